export { type FeatureGate, type FeatureGates, featureGates } from './feature-gates.ts';
export {
  type AuthenticationConfiguration,
  AuthenticationConfigurationError,
  loadAuthenticationConfiguration,
} from './authentication-configuration.ts';
