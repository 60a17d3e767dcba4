export { createClusterState, type ClusterState } from './cluster-state.ts';
export { createMutatingAdmissionPolicy, createValidatingAdmissionPolicy } from './policy-plugins.ts';
export { createDefinitionLifecycle } from './definition-lifecycle.ts';
export { reservedNames } from './reserved-names.ts';
export {
  findStaticPolicyProblems,
  findStaticWebhookProblems,
  type StaticPolicies,
  type StaticProblems,
  type StaticSource,
  staticSuffix,
} from './static-objects.ts';
export type { FollowingPlugin } from './policy-sources.ts';
export { createConditionMeasures, type OpenConditionMeasures } from './condition-measures.ts';
export { createMutatingPolicyMeasures, createValidatingPolicyMeasures } from './policy-measures.ts';
export { type AdmissionWebhookMeasures, createAdmissionWebhookMeasures } from './webhook/webhook-measures.ts';
export { createConversionWebhook } from './webhook/conversion-webhook.ts';
export { WebhookClients } from './webhook/webhook-clients.ts';
export {
  createMutatingAdmissionWebhook,
  createValidatingAdmissionWebhook,
  type WebhookPluginOptions,
} from './webhook/webhook-plugins.ts';
export { createResourceQuota } from './quota/quota-plugin.ts';
