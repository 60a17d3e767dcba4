import { partsOf, type Type, types, withParts } from './type.ts';

/**
 * Walks over the parts of types that checking one expression may take. Types share parts, so a short expression can have
 * a type whose tree has 2^30 parts: each `.map(x, {x: x})` doubles it.
 */
const typeStepsMax = 100_000;
/** Walks over a type are recursive, and a long expression can put types into each other that are not nested in its text. */
const typeDepthMax = 500;

/** The types of an expression are too large to be compared. */
export class TypesTooLargeError extends Error {
  override readonly name = 'TypesTooLargeError';
  constructor() {
    super('the types of the expression are nested too deeply or too large');
  }
}

/**
 * Which type each parameter stands for. Trying a declaration on arguments may bind parameters half way and fail, so a
 * trial remembers what it bound and lets go of it when it does not fit.
 */
export class Inference {
  readonly #bound = new Map<string, Type>();
  /** In the order in which they were bound. */
  readonly #names: string[] = [];
  /** How many times parameters were bound to it: the one that many stand for stays their end. */
  readonly #uses = new Map<string, number>();
  #parameters = 0;
  #stepsLeft = typeStepsMax;

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
    const before = this.#names.length;
    const fits = everyPair(given, wanted, (type, expected) => this.#unify(type, expected, 0));
    if (!fits) for (const name of this.#names.splice(before)) this.#bound.delete(name);
    return fits;
  }

  /** Replaces bound type parameters. Unbound ones become dynamic. */
  resolve(type: Type, depth = 0): Type {
    this.#enter(depth);
    const known = this.shallow(type);
    return known.kind === 'parameter' ? types.dyn : withParts(known, (part) => this.resolve(part, depth + 1));
  }

  /** The same, with parameters that stand for nothing yet. */
  substitute(type: Type, depth = 0): Type {
    this.#enter(depth);
    return withParts(this.shallow(type), (part) => this.substitute(part, depth + 1));
  }

  /** As far as it is known, with parameters left to be found. */
  shallow(type: Type): Type {
    let known = type;
    while (known.kind === 'parameter') {
      const next = this.#bound.get(known.name);
      if (!next) return known;
      known = next;
    }
    return known;
  }

  /** The type of a place where either may stand. */
  join(one: Type, other: Type): Type {
    if (one === other) return one;
    if (!this.assign([other], [one])) return types.dyn;
    return this.shallow(other).kind === 'null' || this.#covers(one, other, 0) ? one : other;
  }

  /** Whether the first says no more than the second, part by part. */
  #covers(one: Type, other: Type, depth: number): boolean {
    this.#enter(depth);
    const [first, second] = [this.shallow(one), this.shallow(other)];
    if (first === second || first.kind === 'dyn' || first.kind === 'parameter') return true;
    if (first.kind !== second.kind) return false;
    return everyPair(partsOf(first), partsOf(second), (part, counterpart) =>
      this.#covers(part, counterpart, depth + 1),
    );
  }

  #unify(given: Type, wanted: Type, depth: number): boolean {
    this.#enter(depth);
    const one = this.shallow(given);
    const other = this.shallow(wanted);
    if (one === other) return true;
    if (other.kind === 'parameter')
      return one.kind === 'parameter' ? this.#bindEither(other, one) : this.#bind(other, one);
    if (one.kind === 'parameter') return this.#bind(one, other);
    if (one.kind === 'dyn' || other.kind === 'dyn') return true;
    if (one.kind === 'null' || other.kind === 'null') return [one, other].every(({ kind }) => nullable.has(kind));
    // Types may be compared with each other, whatever they are types of.
    if (one.kind === 'type' && other.kind === 'type') return true;
    if (one.kind !== other.kind) return false;
    if (one.kind === 'object' || one.kind === 'opaque') return 'name' in other && one.name === other.name;
    return everyPair(partsOf(one), partsOf(other), (part, counterpart) => this.#unify(part, counterpart, depth + 1));
  }

  /** Binds two parameters so that the way to the last one stays short, however many stand for the same. */
  #bindEither(one: Parameter, other: Parameter): boolean {
    if (one.name === other.name) return true;
    const isFirstLast = (this.#uses.get(one.name) ?? 0) > (this.#uses.get(other.name) ?? 0);
    const [from, last] = isFirstLast ? [other, one] : [one, other];
    this.#uses.set(last.name, (this.#uses.get(last.name) ?? 0) + 1 + (this.#uses.get(from.name) ?? 0));
    return this.#set(from.name, last);
  }

  /** Nothing can be a list of itself. */
  #bind({ name }: Parameter, type: Type): boolean {
    return !this.#holds(type, name, 0) && this.#set(name, type);
  }

  #holds(type: Type, name: string, depth: number): boolean {
    this.#enter(depth);
    const known = this.shallow(type);
    return known.kind === 'parameter'
      ? known.name === name
      : partsOf(known).some((part) => this.#holds(part, name, depth + 1));
  }

  #set(name: string, type: Type): true {
    this.#bound.set(name, type);
    this.#names.push(name);
    return true;
  }

  /** The outermost part of a type costs nothing, so that long expressions with small types can be checked. */
  #enter(depth: number): void {
    if (depth === 0) return;
    if (this.#stepsLeft-- <= 0 || depth > typeDepthMax) throw new TypesTooLargeError();
  }
}

type Parameter = Type & { readonly kind: 'parameter' };

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
