export type { JsonSchema, ValidationRule } from './schema/json-schema.ts';
export { customKind } from './kind/custom-kind.ts';
export type { Definition } from './kind/definition.ts';
export { findStructuralFault, type StructuralFinding } from './definition/structural-finding.ts';
export { findUnknownFormats } from './definition/unknown-formats.ts';
export { validateSelectableFields } from './definition/selectable-fields.ts';
export { pathCharactersMax } from './json-path.ts';
export { validateSchema } from './definition/validate-schema.ts';
