import type { Revision } from '../revision.ts';
import { type Keyed, SortedSet } from './sorted-set.ts';
import type { ItemChange } from './window.ts';

/** A collection as of one revision. It never changes. */
export interface View<Item extends Keyed> {
  readonly revision: Revision;
  readonly items: SortedSet<Item>;
  /** The same items by what they can be found by. */
  readonly terms: SortedSet<Term<Item>>;
}

export interface Term<Item extends Keyed> {
  /** The term, such as a label with its value. */
  readonly key: string;
  readonly items: SortedSet<Item>;
}

export type TermsOf<Item> = (item: Item) => readonly string[];

export function emptyView<Item extends Keyed>(revision: Revision): View<Item> {
  return { revision, items: SortedSet.empty(), terms: SortedSet.empty() };
}

/** The view of items in the order of their keys. */
export function viewOf<Item extends Keyed>(
  items: readonly Item[],
  termsOf: TermsOf<Item>,
  revision: Revision,
): View<Item> {
  const byTerm = new Map<string, Item[]>();
  for (const item of items)
    for (const term of termsOf(item)) {
      const found = byTerm.get(term);
      if (found) found.push(item);
      else byTerm.set(term, [item]);
    }
  const terms = [...byTerm]
    .map(([key, found]): Term<Item> => ({ key, items: SortedSet.from(found) }))
    .sort((one, other) => (one.key < other.key ? -1 : 1));
  return { revision, items: SortedSet.from(items), terms: SortedSet.from(terms) };
}

/** The view with one item in the place of another: what a change does, and, the other way round, what undoes it. */
export function withChange<Item extends Keyed>(
  view: View<Item>,
  from: Item | undefined,
  to: Item | undefined,
  termsOf: TermsOf<Item>,
  revision: Revision,
): View<Item> {
  let { items, terms } = view;
  const after = new Set(to ? termsOf(to) : none);
  if (from) {
    if (!to) items = items.without(from.key);
    for (const term of termsOf(from)) {
      // Most changes leave the terms as they are: then the one takes the place of the other below.
      if (after.has(term)) continue;
      const left = terms.get(term)?.items.without(from.key);
      if (left) terms = left.size === 0 ? terms.without(term) : terms.with({ key: term, items: left });
    }
  }
  if (to) {
    items = items.with(to);
    for (const term of after) {
      const found = terms.get(term)?.items ?? SortedSet.empty<Item>();
      terms = terms.with({ key: term, items: found.with(to) });
    }
  }
  return { revision, items, terms };
}

const none: readonly string[] = [];

/** The view as it was before the changes, which led to it in this order. */
export function withoutChanges<Item extends Keyed>(
  view: View<Item>,
  changes: readonly ItemChange<Item>[],
  termsOf: TermsOf<Item>,
  revision: Revision,
): View<Item> {
  return changes.reduceRight(
    (after, { previous, current }) => withChange(after, current, previous, termsOf, revision),
    view,
  );
}
