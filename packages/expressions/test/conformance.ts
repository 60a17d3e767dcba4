import { tests as suite } from '@bufbuild/cel-spec/testdata/conformance.js';
import { check } from '../src/check/check.ts';
import { formatType, type Type, types } from '../src/check/type.ts';
import { commonLibrary } from '../src/library/index.ts';
import { Budget } from '../src/run/budget.ts';
import { Slots } from '../src/run/frame.ts';
import { plan } from '../src/run/plan.ts';
import { Progress } from '../src/run/progress.ts';
import { parse } from '../src/syntax/parser.ts';
import { equal } from '../src/values/equal.ts';
import { EntryMap } from '../src/values/entry-map.ts';
import { MapValue, Optional, TypeValue, Uint, type Value } from '../src/values/value.ts';
import { parseDuration, parseTimestamp } from '../src/values/time.ts';

/** One public test of the language, in the JSON of its protocol buffer. */
export interface Case {
  readonly section: string;
  readonly name: string;
  readonly expr: string;
  readonly container?: string;
  readonly disableCheck?: boolean;
  readonly checkOnly?: boolean;
  readonly disableMacros?: boolean;
  readonly typeEnv?: readonly Json[];
  readonly bindings?: Readonly<Record<string, { readonly value?: Json }>>;
  readonly value?: Json;
  readonly typedResult?: { readonly result?: Json; readonly deducedType?: Json };
  readonly evalError?: Json;
  readonly anyEvalErrors?: Json;
  readonly unknown?: Json;
  readonly anyUnknowns?: Json;
}

// The forms are those of cel.expr.Value, cel.expr.Type and cel.expr.Decl; they are read as far as the cases use them.
// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

interface Suite {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: Json }[];
}

export const cases: readonly Case[] = ((suite as Suite).suites ?? []).flatMap((section) =>
  casesIn(section, section.name, ''),
);

function casesIn(within: Suite, section: string, path: string): Case[] {
  return [
    ...(within.tests ?? []).map(({ original }) => ({ ...original, section, name: `${path}${original.name}` })),
    ...(within.suites ?? []).flatMap((inner) => casesIn(inner, section, `${path}${inner.name}/`)),
  ];
}

/** What protocol buffers would have to be there for; nothing that the server evaluates has any. */
export const needsMessages = (of: Case): boolean =>
  /TestAllTypes|NestedTestAllTypes|google\.protobuf\.(?!Timestamp\b(?!\s*\{)|Duration\b(?!\s*\{))|proto\.(get|has)Ext|TestRequired|GlobalEnum|NestedEnum/.test(
    JSON.stringify(of),
  ) ||
  /objectValue|enumValue|wellKnown|wrapper|messageType/.test(
    JSON.stringify([of.typeEnv, of.bindings, of.value, of.typedResult]),
  );

/** Undefined when the case holds, otherwise what happened instead. */
export function failureOf(of: Case): string | undefined {
  const outcome = run(of);
  const wantsError = of.evalError !== undefined || of.anyEvalErrors !== undefined;
  if (wantsError) return outcome.error === undefined ? 'an error was expected' : undefined;
  if (outcome.error !== undefined) return outcome.error;
  const wantedType = of.typedResult?.deducedType && formatType(typeOf(of.typedResult.deducedType));
  if (wantedType && outcome.type !== wantedType) return `is a ${outcome.type} and no ${wantedType}`;
  const wanted = of.typedResult ? of.typedResult.result : (of.value ?? { boolValue: true });
  if (of.checkOnly || wanted === undefined) return undefined;
  const value = valueOf(wanted);
  if (typeof value === 'number' && Number.isNaN(value) && Number.isNaN(outcome.value)) return undefined;
  const sameType =
    (value as object)?.constructor === (outcome.value as object)?.constructor || value instanceof Uint8Array;
  return sameType && equal(outcome.value as Value, value, new Budget(10_000))
    ? undefined
    : `gives ${show(outcome.value)}, not ${show(value)}`;
}

function run(of: Case): { readonly value?: Value; readonly type?: string; readonly error?: string } {
  try {
    const node = parse(of.expr);
    const bound = Object.entries(of.bindings ?? {});
    const declared = {
      variables: new Map<string, Type>([
        ...bound.map(([name]) => [name, types.dyn] as const),
        ...(of.typeEnv ?? [])
          .filter(({ ident }) => ident)
          .map(({ name, ident }) => [name, typeOf(ident.type)] as const),
      ]),
      container: of.container ?? '',
      library: commonLibrary,
    };
    let type: string | undefined;
    if (!of.disableCheck) {
      const checked = check(node, declared);
      if (checked.faults.length > 0) return { error: checked.faults.map(({ message }) => message).join('\n') };
      type = formatType(checked.type);
    }
    if (of.checkOnly) return { ...(type && { type }) };
    const variables = new Map(bound.map(([name, { value }]) => [name, valueOf(value)]));
    const value = plan(node, { ...declared, slots: new Slots() })({
      variables,
      locals: [],
      budget: new Budget(1_000_000),
      progress: new Progress(),
    });
    return { value, ...(type && { type }) };
  } catch (error) {
    if (!/^(EvaluationError|BudgetExceededError|Error)$/.test((error as Error).name)) throw error;
    return { error: (error as Error).message };
  }
}

function valueOf(json: Json): Value {
  const [kind, held] = Object.entries(json)[0] as [string, Json];
  switch (kind) {
    case 'nullValue':
      return null;
    case 'int64Value':
      return BigInt(held);
    case 'uint64Value':
      return new Uint(BigInt(held));
    case 'doubleValue':
      return Number(held);
    case 'bytesValue':
      return Buffer.from(held, 'base64');
    case 'typeValue':
      return new TypeValue(held);
    case 'listValue':
      return (held.values ?? []).map(valueOf);
    case 'mapValue':
      return new EntryMap((held.entries ?? []).map((entry: Json) => [valueOf(entry.key), valueOf(entry.value)]));
    case 'objectValue':
      return held['@type'].endsWith('Timestamp') ? parseTimestamp(held.value) : parseDuration(held.value);
    default:
      return held;
  }
}

function typeOf(json: Json): Type {
  const [kind, held] = Object.entries(json)[0] as [string, Json];
  switch (kind) {
    case 'primitive':
      return types[
        { INT64: 'int', UINT64: 'uint', BOOL: 'bool', DOUBLE: 'double', STRING: 'string', BYTES: 'bytes' }[
          held as 'INT64'
        ] as 'int'
      ];
    case 'null':
      return types.null;
    case 'listType':
      return types.list(typeOf(held.elemType));
    case 'mapType':
      return types.map(typeOf(held.keyType), typeOf(held.valueType));
    case 'type':
      return types.type(typeOf(held));
    case 'wellKnown':
      return held === 'TIMESTAMP' ? types.timestamp : types.duration;
    case 'abstractType':
      return types.optional(typeOf(held.parameterTypes[0]));
    default:
      return types.dyn;
  }
}

function show(value: Value | undefined): string {
  if (value instanceof MapValue)
    return `{${Array.from(value.entries(), (entry) => entry.map(show).join(': ')).join(', ')}}`;
  if (value instanceof Optional) return `optional(${show(value.value)})`;
  return JSON.stringify(value, (_, held) => (typeof held === 'bigint' ? `${held}` : held)) ?? 'nothing';
}
