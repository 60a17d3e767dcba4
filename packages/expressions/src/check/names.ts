import type { Library } from '../library/index.ts';
import { TypeValue, type Value } from '../values/value.ts';
import { type Node, qualifiedName } from '../syntax/node.ts';
import { formatType, type Type, types } from './type.ts';

/** The names that an expression can use. */
export interface Declarations {
  /** Names may have dots: `a.b` is then a variable and no field. */
  readonly variables: ReadonlyMap<string, Type>;
  /** Names are resolved in this container first, then in the enclosing ones. */
  readonly container: string;
  readonly library: Library;
  /** Types that an expression may make objects of, by their names. */
  readonly constructible?: (name: string) => Type | undefined;
}

/** The variables of macros around a place, innermost first. */
export interface Locals {
  readonly name: string;
  readonly slot: number;
  readonly type: Type;
  readonly outer: Locals | undefined;
}

export const withLocal = (outer: Locals | undefined, name: string, type: Type): Locals => ({
  name,
  type,
  slot: outer ? outer.slot + 1 : 0,
  outer,
});

type Reference =
  | { readonly kind: 'local'; readonly local: Locals }
  | { readonly kind: 'variable'; readonly name: string; readonly type: Type }
  | { readonly kind: 'type'; readonly type: Type; readonly value: Value };

/** Resolves a name or a qualified name; undefined if it is unknown. */
export function resolveReference(
  node: Node,
  declared: Declarations,
  locals: Locals | undefined,
): Reference | undefined {
  const name = qualifiedName(node);
  if (name === undefined) return undefined;
  const [root] = name.split('.', 1);
  for (let local = locals; local; local = local.outer)
    if (local.name === root) return node.kind === 'name' ? { kind: 'local', local } : undefined;
  for (const candidate of candidates(name, declared.container)) {
    const type = declared.variables.get(candidate);
    if (type) return { kind: 'variable', name: candidate, type };
    const named = namedTypes.get(candidate);
    if (named) return { kind: 'type', ...named };
  }
  return undefined;
}

function candidates(name: string, container: string): readonly string[] {
  if (name.startsWith('.')) return [name.slice(1)];
  const within = container === '' ? [] : container.split('.');
  return [...within.map((_, index) => [...within.slice(0, within.length - index), name].join('.')), name];
}

const { dyn } = types;
const selfNamed = ['bool', 'int', 'uint', 'double', 'string', 'bytes'] as const;
const named: readonly (readonly [string, Type])[] = [
  ...selfNamed.map((kind) => [formatType(types[kind]), types[kind]] as const),
  ...['net.IP', 'net.CIDR'].map((name) => [name, types.opaque(name)] as const),
  ['google.protobuf.Timestamp', types.timestamp],
  ['google.protobuf.Duration', types.duration],
  ['null_type', types.null],
  ['list', types.list(dyn)],
  ['map', types.map(dyn, dyn)],
  ['type', types.type(dyn)],
  ['optional_type', types.optional(dyn)],
];
const namedTypes: ReadonlyMap<string, { readonly type: Type; readonly value: Value }> = new Map(
  named.map(([name, type]) => [name, { type: types.type(type), value: new TypeValue(name) }]),
);
