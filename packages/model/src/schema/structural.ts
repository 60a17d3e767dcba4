import { objectMeta } from './common.ts';
import { type AnySchema, type Constraints, type Field, type ObjectSchema, type Schema, string } from './schema.ts';

/**
 * Structural schemas, as custom resources have them. Their objects keep all that they were given, with members in the order
 * of their names. Members without a schema are pruned, and nulls that mean nothing.
 */

/** A part without a schema, which is kept as it is. */
export const unstructured: AnySchema = { type: 'any', contents: 'owned', nullable: true };
/** A part without a schema whose objects lose their members: what `additionalProperties: true` permits. */
export const emptied: AnySchema = { type: 'any', contents: 'emptied', nullable: true };
/** A part whose schema permits any value but null. */
export const anyValue: AnySchema = { type: 'any', contents: 'owned' };

/** What every resource has: as the whole of an object, or embedded in one. */
export const resourceNames = ['kind', 'apiVersion', 'metadata'];

function resourceFields(
  constraints: ReadonlyMap<string, Constraints>,
  metadata: Schema,
): readonly (readonly [string, Schema])[] {
  const schemaOf = (name: string): Schema => (name === 'metadata' ? metadata : string);
  return resourceNames.map((name) => [name, { ...schemaOf(name), ...constraints.get(name) }]);
}

export interface StructuralOptions extends Constraints {
  readonly rest?: Schema;
  readonly atomic?: boolean;
  /** Its kind, apiVersion and metadata come first, so that stored objects begin like those of other kinds. */
  readonly isRoot?: boolean;
  /** It has a kind, an apiVersion and metadata, too. */
  readonly embeddedResource?: boolean;
  /** Rules and defaults for these three, by their names. */
  readonly ofResource?: ReadonlyMap<string, Constraints>;
  /** The metadata of an embedded resource, if they have defaults of their own. */
  readonly metadata?: typeof objectMeta;
}

const unconstrained: ReadonlyMap<string, Constraints> = new Map();

export function structural(
  fields: Iterable<readonly [string, Schema]>,
  {
    atomic = false,
    embeddedResource = false,
    isRoot = false,
    ofResource = unconstrained,
    metadata = objectMeta,
    ...options
  }: StructuralOptions = {},
): ObjectSchema {
  const declared = new Map<string, Field>();
  for (const [name, schema] of [...fields, ...(isRoot || embeddedResource ? resourceFields(ofResource, metadata) : [])])
    declared.set(name, {
      name,
      schema,
      description: '',
      presence: isRoot && name === 'metadata' ? 'always' : 'given',
    });
  const shown = [...declared.values()].filter(
    ({ schema, presence }) => schema.default !== undefined || presence === 'always',
  );
  return {
    type: 'object',
    fields: declared,
    atomic,
    structural: {
      first: isRoot ? resourceNames : [],
      added: shown.map(({ name }) => name),
      embeddedResource,
    },
    ...options,
  };
}
