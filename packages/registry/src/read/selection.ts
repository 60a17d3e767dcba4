import type { ByteString } from '@cluster-apiserver/model/codec';
import type { Kind } from '@cluster-apiserver/model/kind';
import {
  fieldMatcher,
  type FieldSelector,
  labelMatcher,
  type LabelSelector,
  matchesShards,
  type ShardSelector,
} from '@cluster-apiserver/model/selector';
import { CorruptValueError, itemKey, SortedSet, textOfItemKey, type View } from '@cluster-apiserver/storage';
import { type CachedObject, fieldTerm, labelTerm, type StoredObject, unreadableTerm } from '../stored-object.ts';

/** Selects objects of a kind. */
export interface Selection {
  /** Undefined for all namespaces. */
  readonly namespace: string | undefined;
  /** The one object of a path that ends in a name. */
  readonly name?: string | undefined;
  readonly labels: LabelSelector | undefined;
  readonly fields: FieldSelector | undefined;
  /** How the JSON of an object begins whose fields are known; the fields of others may be selected. By default, all are known. */
  readonly fieldsOf?: ByteString | undefined;
  readonly shards?: ShardSelector | undefined;
  /** Skips unreadable objects; otherwise they are an error. */
  readonly readableOnly?: boolean | undefined;
}

/** The keys of the objects that a selection may contain: those with the prefix `within`, or only `key`. */
export interface Scope {
  readonly within: string;
  readonly key: string | undefined;
}

export function scopeOf({ namespaced }: Pick<Kind, 'namespaced'>, { namespace, name, fields }: Selection): Scope {
  const asked = (field: string): string | undefined =>
    fields?.terms.find((term) => term.equal && term.field === field)?.value;
  const inNamespace = namespaced ? (namespace ?? (asked('metadata.namespace') || undefined)) : undefined;
  const named = name ?? asked('metadata.name');
  const within = inNamespace === undefined ? '' : itemKey(`${inNamespace}/`);
  // The name alone is the key of a cluster-scoped object.
  const isOne = named !== undefined && (inNamespace !== undefined || !namespaced);
  return { within, key: isOne ? within + itemKey(named) : undefined };
}

/** Whether an object in the scope of a selection is selected; undefined when all of them are. */
export function matcherOf({
  labels,
  fields,
  fieldsOf,
  name,
  shards,
}: Selection): ((object: StoredObject) => boolean) | undefined {
  if (!labels && !fields && name === undefined && !shards) return undefined;
  const labelsMatch = labels && labelMatcher(labels);
  const fieldsMatch = fields && fieldMatcher(fields);
  return (object) =>
    (!labelsMatch || labelsMatch(object.labels ?? none)) &&
    (!fieldsMatch || fieldsMatch(object) || (fieldsOf !== undefined && !object.json.startsWith(fieldsOf))) &&
    (name === undefined || object.name === name) &&
    (!shards || matchesShards(shards, object.shardHashOf(shards.path)));
}

const none = {};

/** Whether a field is part of the key of an object, and not among the fields of its content. */
export const isFieldOfKey = (field: string): boolean => field === 'metadata.name' || field === 'metadata.namespace';

/** A part of the selected objects, in order. */
export interface Selected {
  readonly objects: readonly StoredObject[];
  /** Whether another part follows. */
  readonly more: boolean;
}

/** Where a part of a selection ends that another one follows; undefined for the last one. */
export const endOfPart = ({ objects, more }: Selected): string | undefined => (more ? objects.at(-1)?.key : undefined);

/** How many objects of a scope follow a key, selected or not. */
export function countAfter({ items }: View<CachedObject>, { within }: Scope, after: string): number {
  const end = within === '' ? items.size : items.countBefore(endOf(within));
  return end - items.countBefore(after + smallest);
}

const countBelow = (items: SortedSet<CachedObject>, within: string): number =>
  within === '' ? items.size : items.countBefore(endOf(within)) - items.countBefore(within);

/** How many objects there are, in a namespace or in all. Those that cannot be read count, too. */
export const countObjects = ({ items }: View<CachedObject>, namespace?: string): number =>
  countBelow(items, namespace === undefined ? '' : itemKey(`${namespace}/`));

const smallest = '\0';
export const startOf = ({ within, key }: Scope, after: string | undefined): string => {
  const start = key ?? within;
  return after !== undefined && after >= start ? after + smallest : start;
};
export const isWithin = ({ within, key }: Scope, candidate: string): boolean =>
  key === undefined ? candidate.startsWith(within) : candidate === key;
/** The first key after all keys of a namespace. */
const endOf = (within: string): string => `${within.slice(0, -1)}0`;

/** The smallest known set with all selected objects: those of a required index term, or all. */
export function candidatesOf(view: View<CachedObject>, kind: Kind, selection: Selection): SortedSet<CachedObject> {
  let best = view.items;
  for (const term of requiredTerms(kind, selection)) {
    const items = view.terms.get(term)?.items ?? SortedSet.empty<CachedObject>();
    if (items.size < best.size) best = items;
  }
  if (best === view.items) return best;
  const { within } = scopeOf(kind, selection);
  // A namespace may hold fewer than any term finds.
  return countBelow(view.items, within) <= best.size ? view.items : best;
}

/** The index terms that every selected object has. */
function* requiredTerms({ indexedFields }: Kind, { labels, fields }: Selection): Generator<string> {
  for (const { key, operator, values } of labels?.requirements ?? []) {
    const [value] = values;
    if (operator === 'in' && values.length === 1 && value !== undefined) yield labelTerm(key, value);
  }
  for (const { field, equal, value } of fields?.terms ?? [])
    if (equal && value !== '' && indexedFields.includes(field)) yield fieldTerm(field, value);
}

/** A range of keys: after one key, up to and including another. */
interface Range {
  readonly after: string | undefined;
  readonly upTo: string | undefined;
}

/**
 * Throws CorruptValueError if unreadable objects are in the scope: each might be selected, so the result would be
 * incomplete. Only the range of one page is checked.
 */
export function requireReadable(
  view: View<CachedObject>,
  scope: Scope,
  { after, upTo }: Range = { after: undefined, upTo: undefined },
): void {
  const items = view.terms.get(unreadableTerm)?.items;
  if (!items) return;
  const unreadable: CorruptValueError[] = [];
  items.visit(startOf(scope, after), (item) => {
    if (!isWithin(scope, item.key) || (upTo !== undefined && item.key > upTo)) return false;
    if (item.unreadable) unreadable.push(item.unreadable);
    return unreadable.length < unreadableMax;
  });
  requireAllReadable(unreadable);
}

/** A list of many unreadable objects names this many of them: enough to see what they have in common. */
const unreadableMax = 100;

/** The names of the objects in a scope that cannot be read. */
export function unreadableNames(view: View<CachedObject>, scope: Scope): string[] {
  const names: string[] = [];
  view.terms.get(unreadableTerm)?.items.visit(startOf(scope, undefined), ({ key }) => {
    if (!isWithin(scope, key)) return false;
    names.push(textOfItemKey(key.slice(key.indexOf('/') + 1)));
    return true;
  });
  return names;
}

export function requireAllReadable(unreadable: readonly CorruptValueError[]): void {
  if (unreadable.length === 0) return;
  throw new CorruptValueError(
    unreadable.slice(0, unreadableMax).flatMap(({ keys }) => keys),
    { cause: unreadable[0] },
  );
}
