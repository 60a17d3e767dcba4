import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { compileRules } from '../rules/compile-rules.ts';
import { compileSchema } from '../schema/compile-schema.ts';
import type { JsonSchema } from '../schema/json-schema.ts';
import { SchemaPatterns } from '../schema/schema-patterns.ts';
import { validateDefaults } from './defaults.ts';
import { findUnreadable, validateRestrictions } from './restrictions.ts';
import { validateSizes } from './sizes.ts';
import { validateStructure } from './structure.ts';

export interface SchemaOptions {
  /** Whether the status of the objects has a path of its own. */
  readonly hasStatus: boolean;
  /** Whether the definition had this schema before. What another server accepted may stay. */
  readonly isStored: boolean;
}

/** Validates the schema of a version, in steps. Of its stages, one waits until there is nothing wrong by the one before. */
export function* validateSchema(
  schema: JsonSchema,
  { hasStatus, isStored }: SchemaOptions,
  problems: Problems,
): SyncTask<void> {
  const before = problems.count;
  if (hasStatus) validateRootWithStatus(schema, problems);
  if (isStored) return;
  const beforeSizes = problems.count;
  yield* validateSizes(schema, problems);
  if (problems.count > beforeSizes) return;
  if (schema.nullable) problems.at('nullable').forbidden('nullable cannot be true at the root');
  const unreadable = yield* findUnreadable(schema);
  const patterns = new SchemaPatterns();
  if (unreadable === undefined) {
    const beforeStructure = problems.count;
    yield* validateStructure(schema, patterns, problems);
    if (problems.count === beforeStructure) yield* validateDefaults(schema, patterns, problems);
  }
  yield* validateRestrictions(schema, problems);
  if (problems.count > before) return;
  if (unreadable === undefined) yield* compileRules(yield* compileSchema(schema, { patterns }), problems);
  else problems.invalid('', unreadable);
}

/** The schema of a status is that of its property: what the root says besides would be lost. */
function validateRootWithStatus(schema: JsonSchema, problems: Problems): void {
  const { type } = schema;
  const other = Object.keys(schema).find((name) => !besideStatus.has(name));
  if (type !== undefined && type !== 'object')
    problems
      .at('type')
      .invalid(
        type,
        'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
      );
  else if (other !== undefined)
    problems.invalid(
      schema,
      `only ${upstreamNames} fields are allowed at the root of the schema if the status subresource is enabled`,
    );
}

const besideStatus = new Set([
  'description',
  'type',
  'format',
  'title',
  'maximum',
  'exclusiveMaximum',
  'minimum',
  'exclusiveMinimum',
  'maxLength',
  'minLength',
  'pattern',
  'maxItems',
  'minItems',
  'uniqueItems',
  'multipleOf',
  'required',
  'items',
  'properties',
  'externalDocs',
  'example',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-validations',
]);

/** As Go prints the fields of its form of a schema. */
const upstreamNames = `[${Array.from(besideStatus, (name) =>
  name.replace('-kubernetes', '').replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase()),
).join(' ')}]`;
