import type { SyncTask } from '@cluster-apiserver/base';
import { formatPath, type Problems } from '@cluster-apiserver/model';
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

/**
 * Validates the schema of a version, in steps. As in kube-apiserver, rules are compiled if the structure and the defaults are
 * valid: those of parts in which nothing else is refused.
 */
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
  if (unreadable !== undefined) {
    yield* validateRestrictions(schema, problems);
    if (problems.count === before) problems.invalid('', unreadable);
    return;
  }
  const patterns = new SchemaPatterns();
  const beforeStructure = problems.count;
  yield* validateStructure(schema, patterns, problems);
  if (problems.count === beforeStructure) yield* validateDefaults(schema, patterns, problems);
  const isSound = problems.count === beforeStructure;
  const refusals = problems.aside();
  yield* validateRestrictions(schema, refusals);
  problems.include(refusals);
  // Of more refusals the places are not known.
  if (!isSound || refusals.errors.length < refusals.count) return;
  const refused = refusals.errors.map(({ path }) => formatPath(path));
  yield* compileRules(yield* compileSchema(schema, { patterns }), problems, refused);
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
