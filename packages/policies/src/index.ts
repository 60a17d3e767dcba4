export { createPolicyEnvironment, type PolicyEnvironment } from './environment.ts';
export { createMutatingAdmissionPolicy } from './mutating-plugin.ts';
export { createMutatingAdmissionWebhook } from './mutating-webhook-plugin.ts';
export { reservedNames } from './reserved-names.ts';
export {
  findStaticPolicyProblems,
  findStaticWebhookProblems,
  type StaticPolicies,
  type StaticProblems,
  type StaticSource,
  staticSuffix,
} from './static-objects.ts';
export type { FollowingPlugin } from './policy-plugin.ts';
export { createValidatingAdmissionPolicy } from './validating-plugin.ts';
export { createValidatingAdmissionWebhook } from './validating-webhook-plugin.ts';
export type { WebhookFailure } from './webhook/invoke-webhook.ts';
export type { AdmissionWebhookMeasures, ConditionMeasures, PolicyMeasures } from './measures.ts';
export { WebhookClients } from './webhook/webhook-clients.ts';
export type { WebhookPluginOptions } from './webhook/webhook-plugin.ts';
