export { mutatingAdmissionPolicy } from './mutating-plugin.ts';
export type { FindParams, ParamObjects } from './params.ts';
export type { Surroundings } from './request.ts';
export { reservedNames } from './reserved-names.ts';
export { type StaticObjects, staticProblems, staticSuffix } from './static-policies.ts';
export { type PolicyPluginOptions, validatingAdmissionPolicy } from './validating-plugin.ts';
