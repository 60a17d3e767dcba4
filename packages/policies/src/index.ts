export { policyEnvironment, type PolicyEnvironment } from './environment.ts';
export { mutatingAdmissionPolicy } from './mutating-plugin.ts';
export { mutatingAdmissionWebhook } from './mutating-webhook-plugin.ts';
export { reservedNames } from './reserved-names.ts';
export {
  problemsOfStaticPolicies,
  problemsOfStaticWebhooks,
  type StaticPolicies,
  type StaticProblems,
  type StaticSource,
  staticSuffix,
} from './static-objects.ts';
export type { FollowingPlugin } from './policy-plugin.ts';
export { validatingAdmissionPolicy } from './validating-plugin.ts';
export { validatingAdmissionWebhook } from './validating-webhook-plugin.ts';
export type { WebhookFailure } from './webhook/invoke.ts';
export type { AdmissionWebhookMeasures, ConditionMeasures, PolicyMeasures } from './measures.ts';
export { WebhookClients } from './webhook/webhook-clients.ts';
export type { WebhookPluginOptions } from './webhook/webhook-plugin.ts';
