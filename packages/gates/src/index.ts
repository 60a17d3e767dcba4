export {
  type Admission,
  type AdmissionContext,
  type AdmissionPlugin,
  admission,
  nameOf,
  type OperationOptions,
  type Precondition,
} from './admission/admission.ts';
export { alwaysDenyWrites } from './admission/always-deny.ts';
export {
  type AdmissionPluginName,
  chooseAdmissionPlugins,
  deprecatedAdmissionPlugins,
  problemOfPluginName,
} from './admission/choose-plugins.ts';
export { eventRateLimit } from './admission/event-rate-limit.ts';
export { type AdmissionMeasures, measuredAdmission, type ObserveAdmission } from './admission/measured.ts';
export { namespaceExists } from './admission/namespace-exists.ts';
export {
  type KnownNamespace,
  namespaceAutoProvision,
  namespaceLifecycle,
  type Namespaces,
} from './admission/namespaces.ts';
export { ownerReferencesPermissionEnforcement } from './admission/owner-references.ts';
export { paramRights, type ParamRightsOptions } from './admission/param-rights.ts';
export { rbacEscalation } from './admission/rbac-escalation.ts';
export type { Authenticator, Credentials } from './authentication/authenticator.ts';
export { orAnonymous } from './authentication/anonymous.ts';
export { clientCertificates } from './authentication/certificate/client-certificates.ts';
export { frontProxy, type FrontProxyHeaders } from './authentication/certificate/front-proxy.ts';
export { cachedTokens } from './authentication/cached-tokens.ts';
export { algorithmNames } from './authentication/oidc/algorithms.ts';
export { issuerGet } from './authentication/oidc/issuer-get.ts';
export { IssuerKeys } from './authentication/oidc/issuer-keys.ts';
export { jwtAuthenticator, type JwtIssuer } from './authentication/oidc/jwt-authenticator.ts';
export { bearerTokens } from './authentication/bearer-token.ts';
export { issuerMetadata, keySet } from './authentication/service-account/discovery.ts';
export {
  type ServiceAccountKeys,
  serviceAccountKeys,
  signingKeyIn,
  UnusableKeyError,
  verifyingKeysIn,
} from './authentication/service-account/keys.ts';
export { knownKeys } from './authentication/service-account/known-keys.ts';
export {
  type AccountAnswer,
  type FindAccount,
  type FoundAccount,
  ofLivingAccounts,
  signedAccountTokens,
} from './authentication/service-account/service-account-tokens.ts';
export { tokenIssuer } from './authentication/service-account/token-issuer.ts';
export { staticTokens, TokenFileError } from './authentication/static-tokens.ts';
export type { TokenAnswer, TokenAuthenticator } from './authentication/token-authenticator.ts';
export { TokenRejectedError } from './authentication/token-rejected.ts';
export {
  type AuthenticationResult,
  measuredAuthenticator,
  type ObserveAuthentication,
} from './authentication/measured.ts';
export { firstToKnow, firstToKnowToken } from './authentication/union.ts';
export { abac } from './authorization/abac.ts';
export { alwaysAllow, alwaysDeny } from './authorization/always.ts';
export { alwaysAllowedPaths, PathPatternError, pathMatcher } from './authorization/always-allowed-paths.ts';
export type { Authorizer } from './authorization/authorizer.ts';
export { instrumented } from './authorization/instrumented.ts';
export { type AuthorizationResult, measuredAuthorizer, type ObserveAuthorization } from './authorization/measured.ts';
export { mastersGroup, monitoringGroup, privilegedGroups } from './authorization/privileged-groups.ts';
export { type IndexedBinding, type IndexedRole, PolicyIndex } from './authorization/rbac/policy-index.ts';
export { missingRules } from './authorization/rbac/missing-rules.ts';
export { type CurrentPolicy, rbacAuthorizer } from './authorization/rbac/rbac-authorizer.ts';
export { RuleSet } from './authorization/rbac/rule-set.ts';
export { firstToDecide } from './authorization/union.ts';
export {
  webhookAuthorizer,
  type WebhookAuthorizerOptions,
  type WebhookMeasures,
} from './authorization/webhook/webhook-authorizer.ts';
export { type Impersonation, type Impersonator, impersonator } from './impersonation/impersonator.ts';
export {
  ImpersonationHeaderError,
  impersonationPrefix,
  type WantedUser,
  wantedUser,
} from './impersonation/wanted-user.ts';
export { sendToWebhook, type WebhookConnection } from './webhook/ask-webhook.ts';
export { webhookTokens } from './authentication/webhook/webhook-tokens.ts';
export { type ConnectProxy, type ProxyTls, throughProxy } from './https/connect-proxy.ts';
export {
  type Dial,
  type HttpsAnswer,
  type HttpsClient,
  type HttpsClientOptions,
  HttpsError,
  HttpsTimeoutError,
  httpsClient,
} from './https/https-client.ts';
export { type RetirableClient, retirable } from './https/retirable-client.ts';
