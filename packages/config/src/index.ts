export { type FeatureGate, type FeatureGates, featureGates } from './feature-gates.ts';
export {
  type EncryptionConfiguration,
  type EncryptionProvider,
  type KmsProvider,
  loadEncryptionConfiguration,
  providersFor,
} from './encryption-configuration.ts';
export { ConfigurationError } from './load.ts';
