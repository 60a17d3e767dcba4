export { type FeatureGate, type FeatureGates, featureGates } from './feature-gates.ts';
