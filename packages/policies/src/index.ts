export { policyEnvironment } from './environment.ts';
export { mutatingAdmissionPolicy } from './mutating-plugin.ts';
export { type PolicyPlugin, validatingAdmissionPolicy } from './validating-plugin.ts';
