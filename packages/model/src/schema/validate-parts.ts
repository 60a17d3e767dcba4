import type { SyncTask } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '../json/json-object.ts';
import { isKubeObject } from '../kind/object.ts';
import type { Problems } from '../problems.ts';
import { dnsWordLabel, type NameRule, pathSegmentNames } from '../validation/names.ts';
import { validateObjectMeta } from '../validation/object-meta.ts';
import { findEntryStep, keysOfEntry } from './list-entries.ts';
import { isSharedList, memberSchema, type Schema, type SharedListSchema } from './schema.ts';

/** Validates what no rule of a schema says: the resources that a value embeds, unchanged ones too, and the keys of its lists. */
export function* validateParts(schema: Schema, value: unknown, current: unknown, problems: Problems): SyncTask<void> {
  yield* visit(schema, value, problems, validateResource);
  yield;
  yield* validateLists(schema, value, current, problems);
}

/** Validates the keys of the lists of a value. */
export function* validateLists(schema: Schema, value: unknown, current: unknown, problems: Problems): SyncTask<void> {
  // An object that had duplicates may keep them.
  const before = problems.aside();
  yield* visit(schema, current, before, refuseDuplicates);
  yield;
  if (before.count === 0) yield* visit(schema, value, problems, refuseDuplicates);
}

type Validate = (schema: Schema, value: unknown, at: Problems) => SyncTask<void> | undefined;

function* visit(schema: Schema, value: unknown, at: Problems, validate: Validate): SyncTask<void> {
  const validating = validate(schema, value, at);
  if (validating) yield* validating;
  if (Array.isArray(value) && schema.type === 'list') {
    if (isScalar(schema.items)) return;
    for (const [index, entry] of value.entries()) yield* visit(schema.items, entry, at.at(index), validate);
    yield;
  } else if (isJsonObject(value) && schema.type === 'object' && schema.structural) {
    // The members of a map have one schema.
    if (schema.fields.size === 0 && (!schema.rest || isScalar(schema.rest))) return;
    for (const name of Object.keys(value)) {
      const inner = memberSchema(schema, name);
      if (!inner || isScalar(inner)) continue;
      const step = schema.fields.has(name) ? name : { key: name };
      yield* visit(inner, value[name], at.at(step), validate);
    }
  }
}

const isScalar = ({ type }: Schema): boolean => type !== 'list' && type !== 'object' && type !== 'map';

function validateResource(schema: Schema, value: unknown, at: Problems): undefined {
  if (schema.type !== 'object' || !schema.structural?.embeddedResource || !isJsonObject(value)) return undefined;
  requireText(value, 'apiVersion', at, groupVersion);
  requireText(value, 'kind', at, (kind) =>
    dnsWordLabel(kind.toLowerCase()).map((problem) => `may have mixed case, but should otherwise match: ${problem}`),
  );
  if (!isKubeObject(value)) return undefined;
  const { metadata } = value;
  const rules = { namespaced: Boolean(metadata.namespace), names: pathSegmentNames, qualifiedFinalizers: false };
  // An embedded resource needs no name.
  validateObjectMeta(metadata.name ? metadata : { ...metadata, name: 'none' }, rules, at);
  return undefined;
}

function requireText(value: JsonObject, name: string, at: Problems, rule: NameRule): void {
  const text = value[name];
  if (text === undefined) at.at(name).required();
  else if (text === '') at.at(name).invalid('', 'must not be empty');
  else if (typeof text === 'string') for (const problem of rule(text)) at.at(name).invalid(text, problem);
}

const groupVersion: NameRule = (text) =>
  text.split('/', 3).length > 2 ? [`unexpected GroupVersion string: ${text}`] : [];

const refuseDuplicates = (schema: Schema, value: unknown, at: Problems): SyncTask<void> | undefined =>
  isSharedList(schema) && Array.isArray(value) ? refuseDuplicatesOf(schema, value, at) : undefined;

/** Entries that are compared in one step. Each takes a microsecond or two. */
const entriesPerStep = 1_000;

/** Of equal entries the second one is named, once. An entry that has no keys ends it. */
function* refuseDuplicatesOf(schema: SharedListSchema, value: readonly unknown[], at: Problems): SyncTask<void> {
  const counts = new Map<string | undefined, number>();
  for (const [index, entry] of value.entries()) {
    if ((index + 1) % entriesPerStep === 0) yield;
    if (schema.sharing !== 'set' && entry !== null && !isJsonObject(entry)) {
      at.at(index).invalid(entry, 'must be an object for an array of list-type map');
      return;
    }
    const step = findEntryStep(schema, entry);
    const count = (counts.get(step) ?? 0) + 1;
    counts.set(step, count);
    if (count === 2) at.at(index).duplicate(identityShown(schema, entry));
  }
}

const identityShown = (schema: SharedListSchema, entry: unknown): unknown =>
  schema.sharing === 'set' ? entry : Object.fromEntries(keysOfEntry(schema, entry));
