import { partsOf, type Type, types, withParts } from './type.ts';

/**
 * Which type each parameter stands for. Trying a declaration on arguments may bind parameters half way and fail, so a
 * trial remembers what it bound and lets go of it when it does not fit.
 */
export class Inference {
  readonly #bound: Bound = { types: new Map(), names: [] };
  #parameters = 0;

  /** Gives the types of one declaration parameters of their own: each use of it may mean another type. */
  createRenaming(): (type: Type) => Type {
    const mine = new Map<string, Type>();
    const renamed = (type: Type): Type => {
      if (type.kind !== 'parameter') return withParts(type, renamed);
      const substitute = mine.get(type.name) ?? this.fresh();
      mine.set(type.name, substitute);
      return substitute;
    };
    return renamed;
  }

  fresh(): Type {
    return types.parameter(`_${this.#parameters++}`);
  }

  /** Whether values of these types are assignable to those; if so, binds their type parameters. */
  assign(given: readonly Type[], wanted: readonly Type[]): boolean {
    const before = this.#bound.names.length;
    const fits = everyPair(given, wanted, (type, expected) => unify(this.#bound, type, expected));
    if (!fits) for (const name of this.#bound.names.splice(before)) this.#bound.types.delete(name);
    return fits;
  }

  /** Replaces bound type parameters. Unbound ones become dynamic. */
  resolve(type: Type): Type {
    const known = findBinding(this.#bound, type);
    return known.kind === 'parameter' ? types.dyn : withParts(known, (part) => this.resolve(part));
  }

  /** The same, with parameters that stand for nothing yet. */
  substitute(type: Type): Type {
    return withParts(findBinding(this.#bound, type), (part) => this.substitute(part));
  }

  /** As far as it is known, with parameters left to be found. */
  shallow(type: Type): Type {
    return findBinding(this.#bound, type);
  }

  /** The type of a place where either may stand. */
  join(one: Type, other: Type): Type {
    if (!this.assign([other], [one])) return types.dyn;
    return this.shallow(other).kind === 'null' || this.#covers(one, other) ? one : other;
  }

  /** Whether the first says no more than the second, part by part. */
  #covers(one: Type, other: Type): boolean {
    const [first, second] = [this.shallow(one), this.shallow(other)];
    if (first.kind === 'dyn' || first.kind === 'parameter') return true;
    if (first.kind !== second.kind) return false;
    return everyPair(partsOf(first), partsOf(second), (part, counterpart) => this.#covers(part, counterpart));
  }
}

interface Bound {
  readonly types: Map<string, Type>;
  /** In the order in which they were bound. */
  readonly names: string[];
}

function findBinding({ types: bound }: Bound, type: Type): Type {
  let known = type;
  while (known.kind === 'parameter') {
    const next = bound.get(known.name);
    if (!next) return known;
    known = next;
  }
  return known;
}

function unify(bound: Bound, given: Type, wanted: Type): boolean {
  const one = findBinding(bound, given);
  const other = findBinding(bound, wanted);
  if (one.kind === 'parameter' && other.kind === 'parameter' && one.name === other.name) return true;
  if (other.kind === 'parameter') return bind(bound, other.name, one);
  if (one.kind === 'parameter') return bind(bound, one.name, other);
  if (one.kind === 'dyn' || other.kind === 'dyn') return true;
  if (one.kind === 'null' || other.kind === 'null') return [one, other].every(({ kind }) => nullable.has(kind));
  // Types may be compared with each other, whatever they are types of.
  if (one.kind === 'type' && other.kind === 'type') return true;
  if (one.kind !== other.kind) return false;
  if (one.kind === 'object' || one.kind === 'opaque') return 'name' in other && one.name === other.name;
  return everyPair(partsOf(one), partsOf(other), (part, counterpart) => unify(bound, part, counterpart));
}

/** Whether there are as many types on both sides and it holds for each pair of them. */
function everyPair(
  left: readonly Type[],
  right: readonly Type[],
  holds: (type: Type, counterpart: Type) => boolean,
): boolean {
  if (left.length !== right.length) return false;
  return left.every((type, index) => {
    const counterpart = right[index];
    return counterpart !== undefined && holds(type, counterpart);
  });
}

const nullable: ReadonlySet<Type['kind']> = new Set(['null', 'object', 'optional', 'timestamp', 'duration', 'opaque']);

/** Nothing can be a list of itself. */
function bind(bound: Bound, name: string, type: Type): boolean {
  const within = (part: Type): boolean => {
    const known = findBinding(bound, part);
    return known.kind === 'parameter' ? known.name === name : partsOf(known).some(within);
  };
  if (within(type)) return false;
  bound.types.set(name, type);
  bound.names.push(name);
  return true;
}
