import { readFileSync } from 'node:fs';
import { compile, EvaluationError, formatType, fromJson, types, type Value } from '../src/index.ts';
import { ConstructedObject, JsonPatchOperation } from '../src/values/constructed.ts';
import { Duration, FieldsValue, MapValue, Opaque, Optional, Timestamp, TypeValue, Uint } from '../src/values/value.ts';
import { QuantityValue } from '../src/values/quantity.ts';
import { Semver } from '../src/values/semver.ts';
import { formatTimestamp } from '../src/values/time.ts';

/** What kube-apiserver says of an expression over `claims` and `user`. */
export interface Answer {
  readonly expr: string;
  readonly claims?: object;
  /** Why it is not accepted. */
  readonly refused?: string;
  readonly type?: string;
  readonly value?: string;
  readonly fails?: 'error' | 'cost';
  /** In the units of kube-apiserver, which allows a million. */
  readonly cost?: number;
}

/** Recorded from the environment that kube-apiserver 1.36.6 has for the configuration of authentication. */
export const recorded: readonly Answer[] = JSON.parse(
  readFileSync(new URL('reference.json', import.meta.url), 'utf8'),
) as Answer[];

const user = types.object('kubernetes.UserInfo', { username: types.string, groups: types.list(types.string) });
const variables = { claims: types.map(types.string, types.dyn), user };

/** The same answer by this package. */
export function answer({ expr, claims }: Answer): Answer {
  const of = { expr, ...(claims && { claims }) };
  const compiled = compile(expr, variables);
  if ('faults' in compiled) return { ...of, refused: reasonOf(compiled.faults[0] as string) };
  const type = formatType(compiled.expression.type).replaceAll(/google\.protobuf\.(\w+)/g, (_, name: string) =>
    name.toLowerCase(),
  );
  try {
    const values = new Map([
      ['claims', fromJson(claims ?? {})],
      ['user', fromJson({ username: 'jane', groups: ['a', 'b'] })],
    ]);
    return { ...of, type, value: show(compiled.expression.evaluate(values)) };
  } catch (error) {
    if (error instanceof EvaluationError) return { ...of, type, fails: 'error' };
    if ((error as Error).name === 'BudgetExceededError') return { ...of, type, fails: 'cost' };
    throw error;
  }
}

const reasons: readonly (readonly [RegExp, string])[] = [
  [/Syntax error|reserved identifier|unable to unescape|invalid (u?int|double) literal/, 'syntax'],
  [/not an identifier|macro/, 'macro'],
  [/undeclared reference/, 'undeclared'],
  [/found no matching overload/, 'overload'],
  [/undefined field|field selection/, 'field'],
  [/cannot be range/, 'range'],
  [/expected type/, 'type'],
];
const reasonOf = (fault: string): string =>
  reasons.find(([pattern]) => pattern.test(fault.split('\n')[0] as string))?.[1] ?? 'literal';

export function show(value: Value): string {
  if (value === null || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\ufffd', '\\ufffd');
  if (typeof value === 'number')
    return `double ${Number.isFinite(value) && !Object.is(value, -0) ? JSON.stringify(value) : Object.is(value, -0) ? '-0' : value}`;
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`;
  if (value instanceof Timestamp) return `timestamp ${formatTimestamp(value)}`;
  if (value instanceof Duration) return `duration ${value.nanoseconds}`;
  if (value instanceof TypeValue) return `type ${value.name}`;
  if (value instanceof Optional) return value.value === undefined ? 'none' : `optional(${show(value.value)})`;
  if (value instanceof MapValue)
    return `{${Array.from(value.entries(), ([key, held]) => `${show(key)}: ${show(held)}`)
      .sort()
      .join(', ')}}`;
  if (value instanceof Opaque) return [value.typeName, showOpaque(value)].join(' ').trim();
  if (value instanceof ConstructedObject) return `${value.typeName}{${showFields(value.fields)}}`;
  if (value instanceof JsonPatchOperation) return showOperation(value);
  if (value instanceof FieldsValue) throw new Error(`${value.typeName} is not shown`);
  return `[${value.map(show).join(', ')}]`;
}

const showFields = (fields: ReadonlyMap<string, Value>): string =>
  Array.from(fields, ([name, value]) => `${name}: ${show(value)}`)
    .sort()
    .join(', ');

function showOperation({ op, path, from, value }: JsonPatchOperation): string {
  const texts = Object.entries({ op, path, from }).map(([name, text]) => `${name}: ${JSON.stringify(text)}`);
  return `JSONPatch{${[...texts, ...(value === undefined ? [] : [`value: ${show(value)}`])].join(', ')}}`;
}

function showOpaque(value: Opaque): string {
  if (value instanceof QuantityValue) return showQuantity(value.quantity);
  if (value instanceof Semver) {
    const [release, before] = [Object.values(value.numbers).join('.'), value.preRelease.join('.')];
    return before === '' ? release : `${release}-${before}`;
  }
  // What only has functions shows nothing.
  return value.toString === Object.prototype.toString ? '' : String(value);
}

function showQuantity({ units, exponent }: QuantityValue['quantity']): string {
  if (exponent >= 0) return String(units * 10n ** BigInt(exponent));
  const digits = String(units < 0n ? -units : units).padStart(1 - exponent, '0');
  const text = `${digits.slice(0, exponent)}.${digits.slice(exponent)}`.replace(/\.?0+$/, '');
  return units < 0n ? `-${text}` : text;
}
