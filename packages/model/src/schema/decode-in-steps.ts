/**
 * Decoding of large values: their parts are decoded before, in steps, and found where the value is decoded as a whole.
 */
import type { SyncTask } from '@cluster-apiserver/base';
import { isJsonObject } from '../json/json-object.ts';
import { nestingMax } from '../json/json-scan.ts';
import type { Path } from '../problems.ts';
import { countValues } from '../validation/values.ts';
import { type DecodeOptions, Decoder, freeContents, isStrictIn, type Part } from './decode.ts';
import { memberSchema, type ObjectSchema, type Schema } from './schema.ts';

interface StepOptions extends Omit<DecodeOptions, 'problems'> {
  /** A canonical value of the schema, with which the value may share members: those are canonical, too. */
  readonly current?: object;
}

/** Like `decode`, in steps of some thousand values at most, or of the members of one object. */
export function* decodeInSteps<Value>(
  schema: ObjectSchema<Value>,
  value: unknown,
  unknownField: (path: Path) => void,
  { current, ...options }: StepOptions = {},
): SyncTask<Value> {
  const decoder = new Decoder(unknownField, options);
  if (current) decoder.keepMembers(schema, current);
  if (countValues(value, valuesPerStep) > valuesPerStep) {
    yield;
    yield* new Steps(decoder).decodeParts(schema, value);
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `Value` is derived from the fields that the value is built by
  return decoder.root(schema, value) as Value;
}

/** Values that are decoded in one step, which takes a millisecond or two. */
const valuesPerStep = 2_000;

/** A part of few values counts as so many: finding it takes time, too. */
const partValuesMin = 100;

class Steps {
  readonly #decoder: Decoder;
  #valuesOfStep = 0;

  constructor(decoder: Decoder) {
    this.#decoder = decoder;
  }

  /** What is nested deeper than known fields may be is not decoded. */
  *decodeParts(schema: Schema, value: unknown, isKept = false): SyncTask<void> {
    const { path } = this.#decoder;
    const isUnion = schema.type === 'object' && schema.otherwise !== undefined;
    if (isUnion) this.#decoder.enterUnion();
    for (const part of partsOf(schema, value, isKept)) {
      const size = this.#decoder.hasPart(part.value) ? 1 : countValues(part.value, valuesPerStep);
      if (size > valuesPerStep && path.length <= nestingMax) {
        yield;
        path.push(part.step);
        yield* this.decodeParts(part.inner, part.value, part.isKept);
        path.pop();
      }
      this.#decoder.decodePart(part);
      this.#valuesOfStep += Math.max(size, partValuesMin);
      if (this.#valuesOfStep < valuesPerStep) continue;
      this.#valuesOfStep = 0;
      yield;
    }
    if (isUnion) this.#decoder.leaveUnion();
  }
}

function* partsOf(schema: Schema, value: unknown, isKept: boolean): Generator<Part, void> {
  if (schema.type === 'object' && schema.otherwise && !isJsonObject(value))
    yield* partsOf(schema.otherwise.schema, value, isKept);
  const memberOf = membersOf(schema, value, isKept);
  if (!memberOf) return;
  if (Array.isArray(value)) {
    for (const [step, member] of value.entries()) {
      const part = isContainer(member) && memberOf(String(step));
      if (part) yield { step, value: member, ...part };
    }
    return;
  }
  if (!isJsonObject(value)) return;
  for (const step in value) {
    const member = value[step];
    const part = isContainer(member) && memberOf(step);
    if (part) yield { step, value: member, ...part };
  }
}

const isContainer = (value: unknown): value is object => Array.isArray(value) || isJsonObject(value);

type FindMember = (name: string) => Pick<Part, 'inner' | 'by' | 'isKept'> | undefined;

/** How the members of a value are decoded; undefined if it is decoded as a whole. */
function membersOf(schema: Schema, value: unknown, isKept: boolean): FindMember | undefined {
  const isList = Array.isArray(value);
  if (isList && schema.type === 'list') return () => ({ inner: schema.items, by: schema.items, isKept });
  if (isKept ? isList || schema.type !== 'object' : schema.type === 'any' && schema.contents !== undefined) {
    const contents = freeContents(schema);
    // An object that is emptied keeps no member.
    if (contents === 'emptied' && !isList) return undefined;
    return () => ({ inner: { type: 'any', contents }, by: contents, isKept: true });
  }
  if (schema.type === 'map') return () => ({ inner: schema.values, by: schema.values, isKept: false });
  if (schema.type !== 'object') return undefined;
  const { structural } = schema;
  return (name) => {
    const inner = structural ? memberSchema(schema, name) : schema.fields.get(name)?.schema;
    const isStrict =
      !structural || (schema.fields.has(name) && inner && isStrictIn(structural.embeddedResource, name, inner));
    return inner && { inner, by: inner, isKept: !isStrict };
  };
}
