import { requireValue, type SyncTask } from '@cluster-apiserver/base';
import type { Revision } from '../revision.ts';
import { chunkItems, LargeList } from './large-list.ts';
import { LargeMap } from './large-map.ts';
import { type Keyed, SortedSet } from './sorted-set.ts';
import type { ItemChange } from './change-window.ts';

/** An immutable snapshot of a collection at one revision. */
export interface View<Item extends Keyed> {
  readonly revision: Revision;
  readonly items: SortedSet<Item>;
  /** The same items by their index terms. */
  readonly terms: SortedSet<Term<Item>>;
}

export interface Term<Item extends Keyed> {
  /** The index term, such as a label with its value. */
  readonly key: string;
  readonly items: SortedSet<Item>;
}

export type TermsOf<Item> = (item: Item) => readonly string[];

export function emptyView<Item extends Keyed>(revision: Revision): View<Item> {
  return { revision, items: SortedSet.empty(), terms: SortedSet.empty() };
}

/** Builds a view of items in key order, in small steps, because there may be a million of them. */
export function* buildView<Item extends Keyed>(
  items: Iterable<Item>,
  termsOf: TermsOf<Item>,
  revision: Revision,
): SyncTask<View<Item>> {
  const byTerm = new LargeMap<Item[] | LargeList<Item>>();
  for (const item of items) {
    for (const term of termsOf(item)) {
      const found = byTerm.get(term);
      if (!found) byTerm.set(term, [item]);
      else if (found instanceof LargeList || found.length < chunkItems) found.push(item);
      else byTerm.set(term, withItem(found, item));
    }
    yield;
  }
  const terms = new LargeList<Term<Item>>();
  for (const [key, found] of byTerm) {
    terms.push({ key, items: yield* SortedSet.steps(found) });
    yield;
  }
  return {
    revision,
    items: yield* SortedSet.steps(items),
    terms: yield* SortedSet.steps(yield* sort(terms)),
  };
}

/** Most terms have few items, so they begin with an array. */
function withItem<Item>(found: Item[], item: Item): LargeList<Item> {
  const list = new LargeList(found);
  list.push(item);
  return list;
}

/** How many are sorted in one step. */
const sortedPerStep = 256;

/** Merge sort by key, in small steps. */
function* sort<T extends Keyed>(all: LargeList<T>): SyncTask<LargeList<T>> {
  let sorted: LargeList<T>[] = [];
  for (let start = 0; start < all.size; start += sortedPerStep) {
    const some: T[] = [];
    for (let at = start; at < Math.min(start + sortedPerStep, all.size); at++) some.push(requireValue(all.at(at)));
    sorted.push(new LargeList(some.sort((one, other) => (one.key < other.key ? -1 : 1))));
    yield;
  }
  while (sorted.length > 1) {
    const merged: LargeList<T>[] = [];
    for (let at = 0; at < sorted.length; at += 2) merged.push(yield* merge(requireValue(sorted[at]), sorted[at + 1]));
    sorted = merged;
  }
  return sorted[0] ?? all;
}

function* merge<T extends Keyed>(ones: LargeList<T>, others: LargeList<T> | undefined): SyncTask<LargeList<T>> {
  if (!others) return ones;
  const merged = new LargeList<T>();
  let oneAt = 0;
  let otherAt = 0;
  while (merged.size < ones.size + others.size) {
    const one = ones.at(oneAt);
    const other = others.at(otherAt);
    const isOneNext = one !== undefined && (other === undefined || one.key < other.key);
    merged.push(requireValue(isOneNext ? one : other));
    if (isOneNext) oneAt++;
    else otherAt++;
    if (merged.size % sortedPerStep === 0) yield;
  }
  return merged;
}

/** Replaces an item in a view. A change is applied this way, and undone with `from` and `to` swapped. */
export function withChange<Item extends Keyed>(
  view: View<Item>,
  from: Item | undefined,
  to: Item | undefined,
  termsOf: TermsOf<Item>,
  revision: Revision,
): View<Item> {
  let { items, terms } = view;
  const after = to ? searchable(termsOf(to)) : none;
  if (from) {
    if (!to) items = items.without(from.key);
    for (const term of termsOf(from)) {
      // Most changes keep the terms: then the new item replaces the old one below.
      if (contains(after, term)) continue;
      const left = terms.get(term)?.items.without(from.key);
      if (left) terms = left.size === 0 ? terms.without(term) : terms.with({ key: term, items: left });
    }
  }
  if (to) {
    items = items.with(to);
    for (const term of after)
      terms = terms.withChanged(term, (found) => ({
        key: term,
        items: (found?.items ?? SortedSet.empty<Item>()).with(to),
      }));
  }
  return { revision, items, terms };
}

type Terms = readonly string[] | ReadonlySet<string>;
const none: Terms = [];

/** For a few terms an array is faster than a set. */
const fewTerms = 8;
const searchable = (terms: readonly string[]): Terms => (terms.length <= fewTerms ? terms : new Set(terms));
const contains = (terms: Terms, term: string): boolean => ('has' in terms ? terms.has(term) : terms.includes(term));

/** The view before the given changes. Each step undoes one of them. */
export function* withoutChanges<Item extends Keyed>(
  view: View<Item>,
  changes: readonly ItemChange<Item>[],
  termsOf: TermsOf<Item>,
  revision: Revision,
): SyncTask<View<Item>> {
  let before: View<Item> = { ...view, revision };
  for (let at = changes.length - 1; at >= 0; at--) {
    const { previous, current } = requireValue(changes[at]);
    before = withChange(before, current, previous, termsOf, revision);
    yield;
  }
  return before;
}
