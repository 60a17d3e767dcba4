import { invariant, requireValue, unreachable } from '@cluster-apiserver/base';
import { type Type, types } from '../check/type.ts';
import { Budget } from '../run/budget.ts';
import {
  Duration,
  EvaluationError,
  MapValue,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '../values/value.ts';

/** One overload of a function: parameter types, result type and implementation. */
export interface Overload {
  readonly name: string;
  /** Called as `target.name(…)`; the target is then the first of `takes`. */
  readonly isMethod: boolean;
  readonly takes: readonly Type[];
  readonly gives: Type;
  readonly run: Run;
}

/**
 * Receives the arguments in the order of the signature, then the budget for work that grows faster than its input. `never`
 * lets an implementation declare the types of its signature; only `call` relies on it.
 */
export type Run = (...args: never[]) => Value;

/** `size(string) -> int` */
export const defineFunction = (signature: string, run: Run): Overload => overload(signature, [], run);

/** `string`, `startsWith(string) -> bool` */
export const defineMethod = (target: string, signature: string, run: Run): Overload =>
  overload(signature, [typeIn(target)], run);

/** For what is evaluated without a call, so that only its types are declared. */
export function createUnplanned(): never {
  throw new EvaluationError('no such overload');
}

/** The budget, which `call` appends to the arguments. */
export function getBudget(args: readonly never[]): Budget {
  const last: unknown = args.at(-1);
  invariant(last instanceof Budget, 'the budget follows the arguments');
  return last;
}

/** Charges a constant cost for a function whose work is more than one step. */
export const withCost =
  (steps: number, run: Run): Run =>
  (...args) => {
    getBudget(args).charge(steps);
    return run(...args);
  };

function overload(signature: string, target: readonly Type[], run: Run): Overload {
  const [, name = '', args = '', gives = ''] = /^([^(]+)\((.*)\) -> (.+)$/.exec(signature) ?? [];
  return { name, isMethod: target.length > 0, takes: [...target, ...listIn(args)], gives: typeIn(gives), run };
}

export function call({ run }: Overload, args: readonly Value[], budget: Budget): Value {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- callers check `accepts` first, and each implementation takes the types of its signature
  return run(...([...args, budget] as never[]));
}

/** Whether the arguments have the parameter types. Elements of lists are not checked. */
export const accepts = ({ takes }: Overload, args: readonly Value[]): boolean =>
  takes.length === args.length && takes.every((type, index) => isOf(type, args[index]));

function isOf(type: Type, value: Value | undefined): boolean {
  switch (type.kind) {
    case 'dyn':
    case 'parameter':
      return true;
    case 'null':
      return value === null;
    case 'bool':
      return typeof value === 'boolean';
    case 'int':
      return typeof value === 'bigint';
    case 'double':
      return typeof value === 'number';
    case 'string':
      return typeof value === 'string';
    case 'uint':
      return value instanceof Uint;
    case 'bytes':
      return value instanceof Uint8Array;
    case 'timestamp':
      return value instanceof Timestamp;
    case 'duration':
      return value instanceof Duration;
    case 'opaque':
      return value instanceof Opaque && value.typeName === type.name;
    case 'list':
      return Array.isArray(value);
    case 'optional':
      return value instanceof Optional;
    case 'type':
      return value instanceof TypeValue;
    case 'map':
    case 'object':
      return value instanceof MapValue;
    default:
      return unreachable(type);
  }
}

/** `A`, `int`, `list(A)`, `map(K, V)`, `net.IP` */
function typeIn(written: string): Type {
  const [, name = '', args = ''] = /^([\w.]+)(?:\((.*)\))?$/.exec(written.trim()) ?? [];
  const [first, second] = listIn(args);
  // All declarations are in this package and are parsed when it is loaded, so a misspelt one fails at once.
  const part = (type: Type | undefined): Type => requireValue(type, `the type ${written} has its parts`);
  switch (name) {
    case 'list':
    case 'optional':
    case 'type':
      return types[name](part(first));
    case 'map':
      return types.map(part(first), part(second));
    default:
      if (name.includes('.')) return types.opaque(name);
      return /^[A-Z]$/.test(name)
        ? types.parameter(name)
        : requireValue(plainTypes.get(name), `there is a type ${name}`);
  }
}

const plainTypes: ReadonlyMap<string, Type> = new Map(
  [
    types.dyn,
    types.null,
    types.bool,
    types.int,
    types.uint,
    types.double,
    types.string,
    types.bytes,
    types.timestamp,
    types.duration,
  ].map((type) => [type.kind, type]),
);

function listIn(written: string): Type[] {
  const parts = written.split(/,(?![^(]*\))/).filter((part) => part.trim() !== '');
  return parts.map(typeIn);
}
