export {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  type AuthenticationFlags,
  loadAuthenticationConfiguration,
} from './authentication-configuration.ts';
export {
  type AuditedResources,
  type AuditLevel,
  auditLevels,
  type AuditPolicy,
  type AuditRule,
  type AuditStage,
  auditStages,
  loadAuditPolicy,
} from './audit-policy.ts';
export {
  type AdmissionConfiguration,
  loadAdmissionConfiguration,
  readPluginConfiguration,
  readAdmissionConfiguration,
} from './admission-configuration.ts';
export type { EventLimit, EventLimitType, EventRateLimitConfiguration } from './admission/event-rate-limit.ts';
export { loadAbacPolicies, readAbacPolicies } from './abac-policies.ts';
export {
  type AuthorizationConfiguration,
  type AuthorizationFiles,
  type AuthorizerConfiguration,
  type AuthorizerType,
  authorizerTypes,
  loadAuthorizationConfiguration,
  type WebhookConfiguration,
} from './authorization-configuration.ts';
export type { ClaimMapping, ClaimMappings } from './authentication/claim-mappings.ts';
export type { EgressSelector, Issuer } from './authentication/issuer.ts';
export type { ClaimRule, ExpressionRule } from './authentication/rules.ts';
export {
  type EgressConfiguration,
  type EgressProxy,
  type EgressTls,
  loadEgressSelectorConfiguration,
  readEgressSelectorConfiguration,
} from './egress-selector-configuration.ts';
export {
  type EncryptionConfiguration,
  type EncryptionProvider,
  type KmsProvider,
  loadEncryptionConfiguration,
  providersFor,
} from './encryption-configuration.ts';
export { type FeatureGate, type FeatureGates, parseFeatureGates } from './feature-gates.ts';
export { holdsCertificates, splitCertificates } from './certificates.ts';
export { type EgressTlsFiles, readEgressTls } from './egress-tls.ts';
export { ConfigurationError, Findings, type FoundCertificates, type Problem } from './findings.ts';
export { loadKubeconfig } from './kubeconfig.ts';
export { configurationKinds, kindNamed, kindOf, nameOf } from './kinds.ts';
export type { ConfigurationKind } from './load.ts';
export { type JsonSchema, printSchema } from './schema.ts';
export { type Manifest, readManifests } from './manifests.ts';
export { loadTracingConfiguration, type TracingConfiguration, type TracingEndpoint } from './tracing-configuration.ts';
export {
  loadWebhookConnection,
  readWebhookConnection,
  type ReadFile,
  type WebhookConnection,
} from './webhook-connection.ts';
