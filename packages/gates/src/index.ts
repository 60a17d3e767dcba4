export { type Admission, type AdmissionPlugin, admission, type Attempt, type Premise } from './admission/admission.ts';
export { type AdmissionPluginName, chooseAdmissionPlugins } from './admission/choose-plugins.ts';
export {
  type KnownNamespace,
  namespaceAutoProvision,
  namespaceLifecycle,
  type Namespaces,
} from './admission/namespaces.ts';
export type { Authenticator, Credentials, UserInfo } from './authentication/authenticator.ts';
export { type Get, httpsGet } from './authentication/oidc/https-get.ts';
export { jwtAuthenticator, type JwtIssuer } from './authentication/oidc/jwt-authenticator.ts';
export { TokenRejectedError } from './authentication/oidc/rejected.ts';
export { staticTokens, TokenFileError } from './authentication/static-tokens.ts';
export { firstToKnow } from './authentication/union.ts';
export type { Attributes, Authorizer, Decision } from './authorization/authorizer.ts';
export { mastersGroup, privilegedGroups } from './authorization/privileged-groups.ts';
export { firstToDecide } from './authorization/union.ts';
