export type { JsonSchema, ValidationRule } from './schema/json-schema.ts';
export { customKind } from './kind/custom-kind.ts';
export type { Definition } from './kind/definition.ts';
