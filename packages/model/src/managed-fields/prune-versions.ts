import type { KubeObject } from '../kind/object.ts';
import { compare } from './compare.ts';
import { difference, emptySet, type FieldSet, intersection, isEmptySet, union } from './field-set.ts';
import type { Ownership } from './ownership.ts';
import { prune } from './prune.ts';
import type { Converted, Versions } from './versions.ts';

/**
 * `merged` in the version of `own`, which is applied now, without the fields of `last` that have no owner any more. They are
 * removed in the version in which they were applied, and come back if that removes fields that another version owns.
 */
export function* pruneInVersions<Wait>(
  versions: Versions<Wait>,
  merged: KubeObject,
  last: Ownership,
  own: Ownership,
  others: readonly Ownership[],
): Generator<Wait | undefined, KubeObject> {
  const lastVersion = last.entry.apiVersion ?? '';
  const kept = fieldsByVersion([own, ...others]);
  const keptThere = kept.get(lastVersion) ?? emptySet;
  const found = yield* versions.convert([merged], lastVersion);
  const whole = found?.objects[0];
  if (!found || !whole) return merged;
  const { schema } = found;
  let rest = prune(schema, whole, difference(last.fields, keptThere), keptThere);
  yield;
  if (rest === whole) return merged;
  kept.delete(lastVersion);
  for (const [version, fields] of kept) {
    const there = yield* versions.convert([whole, rest], version);
    rest = (there && withOwned(there, fields)) ?? rest;
    yield;
  }
  if (rest.apiVersion !== lastVersion) {
    const back = (yield* versions.convert([rest], lastVersion))?.objects[0] ?? whole;
    // Nothing else goes, whatever the conversions have lost.
    rest = prune(schema, whole, intersection(compare(schema, whole, back).removed, last.fields), keptThere);
    yield;
  }
  return (yield* versions.convert([rest], own.entry.apiVersion ?? ''))?.objects[0] ?? merged;
}

function fieldsByVersion(owned: readonly Ownership[]): Map<string, FieldSet> {
  const all = new Map<string, FieldSet>();
  for (const { entry, fields } of owned) {
    const { apiVersion = '' } = entry;
    all.set(apiVersion, union(all.get(apiVersion) ?? emptySet, fields));
  }
  return all;
}

/** The rest of an object with the owned fields that it has lost; undefined if it has all of them. */
function withOwned({ schema, objects: [whole, rest] }: Converted, owned: FieldSet): KubeObject | undefined {
  if (!whole || !rest) return undefined;
  const gone = compare(schema, whole, rest).removed;
  return isEmptySet(intersection(gone, owned)) ? undefined : prune(schema, whole, difference(gone, owned), owned);
}
