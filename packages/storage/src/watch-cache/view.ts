import { requireValue, type SyncTask } from '@cluster-apiserver/base';
import type { Revision } from '../revision.ts';
import { beginEdit, type Edit, type Keyed, SortedSet } from './sorted-set.ts';
import type { ItemChange } from './change-window.ts';

/** An immutable snapshot of a collection at one revision. */
export interface View<Item extends Keyed> {
  readonly revision: Revision;
  readonly items: SortedSet<Item>;
  /** The same items by their index terms. */
  readonly terms: SortedSet<IndexTerm<Item>>;
}

export interface IndexTerm<Item extends Keyed> {
  /** The index term, such as a label with its value. */
  readonly key: string;
  readonly items: SortedSet<Item>;
}

export type TermsOf<Item> = (item: Item) => readonly string[];

export function emptyView<Item extends Keyed>(revision: Revision): View<Item> {
  return { revision, items: SortedSet.empty(), terms: SortedSet.empty() };
}

/**
 * Replaces an item in a view, in place what was made under the same edit. A change is applied this way, and undone with
 * `from` and `to` swapped.
 */
export function withChange<Item extends Keyed>(
  view: View<Item>,
  from: Item | undefined,
  to: Item | undefined,
  { termsOf, revision, edit }: { readonly termsOf: TermsOf<Item>; readonly revision: Revision; readonly edit: Edit },
): View<Item> {
  let { items, terms } = view;
  const after = to ? searchable(termsOf(to)) : none;
  if (from) {
    if (!to) items = items.without(from.key, edit);
    for (const term of termsOf(from)) {
      // Most changes keep the terms: then the new item replaces the old one below.
      if (contains(after, term)) continue;
      const found = terms.get(term);
      if (!found) continue;
      const left = found.items.without(from.key, edit);
      if (left.size === 0) terms = terms.without(term, edit);
      else if (left !== found.items) terms = terms.with({ key: term, items: left }, edit);
    }
  }
  if (to) {
    items = items.with(to, edit);
    for (const term of after)
      terms = terms.withChanged(
        term,
        (found) => {
          const present = (found?.items ?? SortedSet.empty<Item>()).with(to, edit);
          return found?.items === present ? found : { key: term, items: present };
        },
        edit,
      );
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
  const options = { termsOf, revision, edit: beginEdit() };
  let before: View<Item> = { ...view, revision };
  for (let at = changes.length - 1; at >= 0; at--) {
    const { previous, current } = requireValue(changes[at]);
    before = withChange(before, current, previous, options);
    yield;
  }
  return before;
}
