export {
  type AnonymousConfiguration,
  type AuthenticationConfiguration,
  type AuthenticationFlags,
  loadAuthenticationConfiguration,
} from './authentication-configuration.ts';
export { type AdmissionConfiguration, loadAdmissionConfiguration } from './admission-configuration.ts';
export type { EventLimit, EventLimitType, EventRateLimitConfiguration } from './admission/event-rate-limit.ts';
export { type AbacPolicy, loadAbacPolicies } from './abac-policies.ts';
export {
  type AuthorizationConfiguration,
  type AuthorizationFiles,
  type AuthorizerConfiguration,
  type AuthorizerType,
  authorizerTypes,
  loadAuthorizationConfiguration,
  type WebhookConfiguration,
} from './authorization-configuration.ts';
export type { EgressSelector, Issuer } from './authentication/issuer.ts';
export {
  type EgressConfiguration,
  type EgressProxy,
  type EgressTls,
  loadEgressSelectorConfiguration,
} from './egress-selector-configuration.ts';
export {
  type EncryptionConfiguration,
  type EncryptionProvider,
  type KmsProvider,
  loadEncryptionConfiguration,
  providersFor,
} from './encryption-configuration.ts';
export { type FeatureGate, type FeatureGates, featureGates } from './feature-gates.ts';
export { type Content, type Kubeconfig, loadKubeconfig } from './kubeconfig.ts';
export { ConfigurationError } from './load.ts';
export { type Manifest, readManifests } from './manifests.ts';
export { loadTracingConfiguration, type TracingConfiguration, type TracingEndpoint } from './tracing-configuration.ts';
export { loadWebhookConnection, type ReadFile, type WebhookConnection } from './webhook-connection.ts';
