export { mutatingAdmissionPolicy } from './mutating-plugin.ts';
export type { FindParams, ParamObjects } from './params.ts';
export type { Surroundings } from './request.ts';
export { type PolicyPlugin, type PolicyPluginOptions, validatingAdmissionPolicy } from './validating-plugin.ts';
