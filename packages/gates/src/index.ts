export {
  type Admission,
  type AdmissionContext,
  type AdmissionPlugin,
  type Admitted,
  type AdmittedCreation,
  createAdmission,
  nameOf,
  type OperationOptions,
  type Precondition,
} from './admission/admission.ts';
export {
  certificateSubjectRestriction,
  createCertificateApproval,
  createCertificateSigning,
} from './admission/certificates.ts';
export { alwaysDenyWrites } from './admission/always-deny.ts';
export {
  type AdmissionPluginName,
  chooseAdmissionPlugins,
  deprecatedAdmissionPlugins,
  describeUnknownPlugin,
  describeAdmissionPlugins,
} from './admission/choose-plugins.ts';
export { createEventRateLimit } from './admission/event-rate-limit.ts';
export { createMeasuredAdmission } from './admission/measured-admission.ts';
export { createNamespaceExists } from './admission/namespace-exists.ts';
export {
  type NamespaceState,
  createNamespaceAutoProvision,
  createNamespaceLifecycle,
  type Namespaces,
} from './admission/namespaces.ts';
export { createOwnerReferencesPermissionEnforcement } from './admission/owner-references.ts';
export { createParamRights, type ParamRightsOptions } from './admission/param-rights.ts';
export { createRbacEscalation } from './admission/rbac-escalation.ts';
export { FlowControl, type Flow, FlowRejectedError, type FlowSeats } from './flow-control/flow-control.ts';
export { createSimpleLimits, type SimpleLimits } from './flow-control/simple-limits.ts';
export { createFlowMeasures, publishLevels } from './flow-control/flow-control-measures.ts';
export { compileFlowSchema, type FlowSchemaObject } from './flow-control/flow-schemas.ts';
export type { PriorityLevelObject } from './flow-control/priority-level.ts';
export type { Authenticator, Credentials } from './authentication/authenticator.ts';
export { withAnonymous } from './authentication/anonymous.ts';
export { createClientCertificateAuthenticator } from './authentication/certificate/client-certificates.ts';
export { createFrontProxyAuthenticator, type FrontProxyHeaders } from './authentication/certificate/front-proxy.ts';
export { type CreateTokenCache, createTokenCaches } from './authentication/token-cache.ts';
export { algorithmNames } from './authentication/oidc/algorithms.ts';
export { createDocumentFetcher } from './authentication/oidc/document-fetcher.ts';
export { DistributedClaims } from './authentication/oidc/distributed-claims.ts';
export { IssuerKeys } from './authentication/oidc/issuer-keys.ts';
export { createJwtAuthenticator, type JwtIssuer } from './authentication/oidc/jwt-authenticator.ts';
export { createBearerTokenAuthenticator } from './authentication/bearer-token.ts';
export { createIssuerMetadata, createKeySet } from './authentication/service-account/discovery.ts';
export {
  type ServiceAccountKeys,
  createServiceAccountKeys,
  parseSigningKey,
  UnusableKeyError,
  parseVerifyingKeys,
} from './authentication/service-account/keys.ts';
export { createKeyFinder } from './authentication/service-account/key-finder.ts';
export type { AccountAnswer, FindReferent, FoundReferent } from './authentication/service-account/referents.ts';
export {
  requireExistingReferents,
  createAccountTokenAuthenticator,
} from './authentication/service-account/service-account-tokens.ts';
export {
  formatDate,
  isUsedToday,
  invalidSinceLabel,
  lastUsedLabel,
  type UsedSecret,
} from './authentication/service-account/require-secret.ts';
export {
  createSecretTokenMeasures,
  type SecretTokenMeasures,
} from './authentication/service-account/secret-token-measures.ts';
export { signSecretToken } from './authentication/service-account/secret-tokens.ts';
export { createTokenIssuer } from './authentication/service-account/token-issuer.ts';
export { serverUser } from './server-user.ts';
export { createStaticTokenAuthenticator, TokenFileError } from './authentication/static-tokens.ts';
export type { TokenAnswer, TokenAuthenticator } from './authentication/token-authenticator.ts';
export { TokenRejectedError } from './authentication/token-rejected-error.ts';
export { createMeasuredAuthenticator } from './authentication/measured-authenticator.ts';
export { uniteAuthenticators, uniteTokenAuthenticators } from './authentication/union.ts';
export { createAbacAuthorizer } from './authorization/abac.ts';
export { alwaysAllow, alwaysDeny } from './authorization/always.ts';
export { createPathAuthorizer, PathPatternError, compilePathPatterns } from './authorization/always-allowed-paths.ts';
export { AuthorizationFailedError, isLoggedError } from './authorization/authorization-failed-error.ts';
export type { Authorizer } from './authorization/authorizer.ts';
export { countDecisions } from './authorization/count-decisions.ts';
export { createMeasuredAuthorizer } from './authorization/measured-authorizer.ts';
export { createAuthorizationMeasures, type WebhookMeasures } from './authorization/authorization-measures.ts';
export { mastersGroup, monitoringGroup, createGroupAuthorizer } from './authorization/privileged-groups.ts';
export { type IndexedBinding, type IndexedRole, PolicyIndex } from './authorization/rbac/policy-index.ts';
export { findMissingRules } from './authorization/rbac/missing-rules.ts';
export { type CurrentPolicy, createRbacAuthorizer } from './authorization/rbac/rbac-authorizer.ts';
export { RuleSet } from './authorization/rbac/rule-set.ts';
export { uniteAuthorizers } from './authorization/union.ts';
export {
  createWebhookAuthorizer,
  type WebhookAuthorizerOptions,
} from './authorization/webhook/webhook-authorizer.ts';
export { type Impersonation, type Impersonator, createImpersonator } from './impersonation/impersonator.ts';
export {
  ImpersonationHeaderError,
  impersonationPrefix,
  type ImpersonatedUser,
  readImpersonatedUser,
} from './impersonation/impersonated-user.ts';
export { sendToWebhook, type WebhookConnection } from './webhook/send-to-webhook.ts';
export { createTokenWebhook } from './authentication/webhook/webhook-tokens.ts';
export { type ConnectProxy, type ProxyTls, createProxyDial } from './https/connect-proxy.ts';
export {
  type Dial,
  type HttpsResponse,
  type HttpsClient,
  type HttpsClientOptions,
  HttpsError,
  HttpsTimeoutError,
  createHttpsClient,
} from './https/https-client.ts';
export { parseAnswer } from './https/parse-answer.ts';
export { type RetirableClient, makeRetirable } from './https/retirable-client.ts';
