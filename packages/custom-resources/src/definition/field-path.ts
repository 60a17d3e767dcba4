import type { JsonSchema } from '../schema/json-schema.ts';
import { entrySchema } from './schema-parts.ts';

/** A field that a path such as `.spec.names['x.y/z']` leads to. */
export interface FieldPlace<S = JsonSchema> {
  readonly steps: readonly string[];
  /** Undefined below a part that has no schema of its own. */
  readonly schema: S | undefined;
}

/** The schema of a member; undefined if there is no such member. */
type MemberOf<S> = (schema: S | undefined, name: string) => S | 'any' | undefined;

/** Texts in quotes, the signs of a path, and names between them. */
const token = /'(?:[^'\\]|\\.)*'|[.[\]]|[^.[\]]+/gsy;

/** Finds the field of a path in a schema. Returns what is wrong with it instead, in upstream's words. */
export const findField = (
  path: string,
  root: JsonSchema,
  options: { readonly allowsBrackets: boolean },
): FieldPlace | string => findFieldBy(path, root, memberOf, options);

/** The same in schemas of another form. */
export function findFieldBy<S>(
  path: string,
  root: S,
  memberIn: MemberOf<S>,
  { allowsBrackets }: { readonly allowsBrackets: boolean },
): FieldPlace<S> | string {
  // One by one: a path may be much longer than a schema is deep.
  const tokens = path.matchAll(token);
  const nextToken = (): string | undefined => tokens.next().value?.[0];
  const steps: string[] = [];
  let schema: S | undefined = root;
  for (let sign = nextToken(); sign !== undefined; sign = nextToken()) {
    let name = nextToken();
    if (sign === '[') {
      if (!allowsBrackets) return 'array notation is not allowed';
      if (name === undefined) return 'unexpected end of JSON path';
      if (!/^'.*'$/s.test(name)) return `expected single quoted string but got ${name}`;
      name = name.slice(1, -1).replaceAll(/\\(.)/gs, '$1');
      const end = nextToken();
      if (end === undefined) return 'unexpected end of JSON path';
      if (end !== ']') return `expected ] but got ${end}`;
    } else if (sign !== '.') return `expected [ or . but got: ${sign}`;
    else if (name === undefined) return 'unexpected end of JSON path';
    const next = memberIn(schema, name);
    if (next === undefined) return 'does not refer to a valid field';
    schema = next === 'any' ? undefined : next;
    steps.push(name);
  }
  return { steps, schema };
}

function memberOf(schema: JsonSchema | undefined, name: string): JsonSchema | 'any' | undefined {
  if (schema?.properties) return entrySchema(schema.properties, name);
  const values = schema?.additionalProperties;
  return typeof values === 'object' ? values : values ? 'any' : undefined;
}
