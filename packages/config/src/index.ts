export {
  type AuthenticationConfiguration,
  AuthenticationConfigurationError,
  loadAuthenticationConfiguration,
} from './authentication-configuration.ts';
export {
  type EncryptionConfiguration,
  type EncryptionProvider,
  type KmsProvider,
  loadEncryptionConfiguration,
  providersFor,
} from './encryption-configuration.ts';
export { type FeatureGate, type FeatureGates, featureGates } from './feature-gates.ts';
export { ConfigurationError } from './load.ts';
