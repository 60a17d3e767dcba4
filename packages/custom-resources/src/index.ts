export type { JsonSchema, ValidationRule } from './schema/json-schema.ts';
