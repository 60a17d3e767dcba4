import { type Type, types } from '../check/type.ts';
import type { Budget } from '../run/budget.ts';
import { MapValue } from '../values/map-value.ts';
import { Duration, Opaque, Optional, Timestamp, TypeValue, Uint, type Value } from '../values/value.ts';

/** One meaning of a function: what it takes, what it gives and what it does. */
export interface Overload {
  readonly name: string;
  /** Called as `target.name(…)`; the target is then the first of `takes`. */
  readonly method: boolean;
  readonly takes: readonly Type[];
  readonly gives: Type;
  readonly run: Run;
}

/**
 * The values come in the order of the signature, then the budget for work that grows faster than its input. `never`
 * lets a meaning name the types that its signature promises; `call` is the one place that relies on it.
 */
export type Run = (...args: never[]) => Value;

/** `size(string) -> int` */
export const fn = (signature: string, run: Run): Overload => overload(signature, [], run);

/** `string`, `startsWith(string) -> bool` */
export const method = (target: string, signature: string, run: Run): Overload =>
  overload(signature, [typeIn(target)], run);

/** The same function where its own work is worth more than one step, whatever it is given. */
export const withCost =
  (steps: number, run: Run): Run =>
  (...args) => {
    const budget: Budget = args.at(-1) as unknown as Budget; // It comes last, after what the signature names.
    budget.charge(steps);
    return run(...args);
  };

function overload(signature: string, target: readonly Type[], run: Run): Overload {
  const [, name = '', args = '', gives = ''] = /^([^(]+)\((.*)\) -> (.+)$/.exec(signature) ?? [];
  return { name, method: target.length > 0, takes: [...target, ...listIn(args)], gives: typeIn(gives), run };
}

export function call({ run }: Overload, args: readonly Value[], budget: Budget): Value {
  // Sound, since whoever calls has asked `accepts` first and every run takes what its signature says.
  return run(...([...args, budget] as never[]));
}

/** Whether these values are of the types that are taken, as far as can be seen from outside: lists are not looked into. */
export const accepts = ({ takes }: Overload, args: readonly Value[]): boolean =>
  takes.length === args.length && takes.every((type, index) => isOf(type, args[index] as Value));

function isOf(type: Type, value: Value): boolean {
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
  }
}

/** `A`, `int`, `list(A)`, `map(K, V)`, `net.IP` */
function typeIn(written: string): Type {
  const [, name = '', args = ''] = /^([\w.]+)(?:\((.*)\))?$/.exec(written.trim()) ?? [];
  const parts = listIn(args);
  switch (name) {
    case 'list':
    case 'optional':
    case 'type':
      return types[name](parts[0] as Type);
    case 'map':
      return types.map(parts[0] as Type, parts[1] as Type);
    default:
      if (name.includes('.')) return types.opaque(name);
      // Declarations stand in this room and are all read when it is loaded, so a misspelt name cannot hide.
      return /^[A-Z]$/.test(name) ? types.parameter(name) : types[name as 'int'];
  }
}

function listIn(written: string): Type[] {
  const parts = written.split(/,(?![^(]*\))/).filter((part) => part.trim() !== '');
  return parts.map(typeIn);
}
