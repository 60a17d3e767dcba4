import {
  type JsonObject,
  type Optional,
  requireObject,
  requireOptionalList,
  requireOptionalObject,
} from '../json/json-object.ts';
import { getOwn, runSync, type SyncTask } from '@cluster-apiserver/base';
import type { KubeObject } from '../kind/object.ts';
import { PatchFormError } from '../patch/errors.ts';
import type { Path } from '../problems.ts';
import { decodeInSteps } from '../schema/decode-in-steps.ts';
import {
  hasSharedMembers,
  isSharedList,
  memberSchema,
  type MembersSchema,
  type ObjectSchema,
  type Schema,
  type SharedListSchema,
} from '../schema/schema.ts';
import { findEntryStep } from '../schema/list-entries.ts';
import { type FieldSet, fieldStep, GrowingFieldSet, stepText } from './field-set.ts';

/** An applied configuration: the fields that it mentions, and their values. */
export interface Applied {
  readonly fields: FieldSet;
  /** Canonical values. A field that is mentioned and has none here is to be unset. */
  readonly values: KubeObject;
  /** As it was written. */
  readonly configuration: unknown;
}

/**
 * Reads a configuration. Throws WrongTypeError for values of a type that their field does not take, PatchFormError for
 * lists whose entries cannot be told apart.
 */
export const readApplied = (
  schema: ObjectSchema<KubeObject>,
  configuration: unknown,
  unknownField: (path: Path) => void,
): Applied => runSync(readAppliedInSteps(schema, configuration, unknownField));

/** The same in steps. */
export function* readAppliedInSteps(
  schema: ObjectSchema<KubeObject>,
  configuration: unknown,
  unknownField: (path: Path) => void,
): SyncTask<Applied> {
  const values = yield* decodeInSteps(schema, configuration, unknownField, { keepsNulls: true });
  yield;
  const fields = new GrowingFieldSet();
  yield* addMentionedMembers(schema, requireObject(configuration ?? {}), values, [], fields);
  return { fields, values, configuration };
}

/**
 * Follows the raw configuration, because canonical values do not distinguish null from absent. Undefined if nothing is left
 * to add below the place.
 */
function addMentioned(
  schema: Schema,
  written: unknown,
  value: unknown,
  path: string[],
  fields: GrowingFieldSet,
): SyncTask<void> | undefined {
  if (!isEmptyMention(written)) {
    if (hasSharedMembers(schema, written))
      return addMentionedMembers(schema, requireObject(written), requireOptionalObject(value), path, fields);
    if (isSharedList(schema) && Array.isArray(written))
      return addMentionedEntries(schema, written, requireOptionalList(value) ?? [], path, fields);
  }
  fields.add(path);
  return undefined;
}

/** The members of one object are a step. */
function* addMentionedMembers(
  schema: MembersSchema,
  written: JsonObject,
  value: Optional<JsonObject>,
  path: string[],
  fields: GrowingFieldSet,
): SyncTask<void> {
  for (const name of Object.keys(written)) {
    const inner = memberSchema(schema, name);
    if (!inner) continue;
    path.push(fieldStep(name));
    // A member that no schema names is there because it is mentioned.
    if (schema.type !== 'object' || !schema.fields.has(name)) fields.add(path);
    const below = addMentioned(inner, written[name], value && getOwn(value, name), path, fields);
    if (below) yield* below;
    path.pop();
  }
  yield;
}

/** Whether the place itself is mentioned, and nothing below it. */
const isEmptyMention = (written: unknown): boolean =>
  written === null ||
  written === undefined ||
  (typeof written === 'object' && !Array.isArray(written) && Object.keys(written).length === 0);

function* addMentionedEntries(
  schema: SharedListSchema,
  written: readonly unknown[],
  entries: readonly unknown[],
  path: string[],
  fields: GrowingFieldSet,
): SyncTask<void> {
  const seen = new Set<string>();
  for (const [index, entry] of written.entries()) {
    const step = entry === null ? undefined : findEntryStep(schema, entries[index]);
    if (step === undefined)
      throw new PatchFormError(`${path.map(stepText).join('')}: entry ${index} has nothing that tells it from others`);
    if (seen.has(step)) throw new PatchFormError(`${path.map(stepText).join('')}: several entries ${stepText(step)}`);
    seen.add(step);
    path.push(step);
    fields.add(path);
    const below = addMentioned(schema.items, entry, entries[index], path, fields);
    if (below) yield* below;
    path.pop();
  }
}
