import type { Revision } from '../revision.ts';
import type { CacheItem } from './collection-descriptor.ts';
import { LargeMap } from './large-map.ts';
import { beginEdit, type Edit } from './sorted-set.ts';
import { emptyView, type TermsOf, type View, withChange } from './view.ts';

/** The items of a collection with their index. They change in place until a view of them is handed out. */
export class Contents<Item extends CacheItem> {
  readonly #termsOf: TermsOf<Item>;
  /** The items of the view, because most reads get a single item and this is several times faster. */
  readonly #byKey = new LargeMap<Item>();
  #view: View<Item>;
  /** Undefined while the view may have been handed out. */
  #edit: Edit | undefined;
  #unreadable = 0;

  constructor(termsOf: TermsOf<Item>, revision: Revision) {
    this.#termsOf = termsOf;
    this.#view = emptyView(revision);
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** How many items cannot be read. */
  get unreadable(): number {
    return this.#unreadable;
  }

  /** The revision of the last change. */
  get revision(): Revision {
    return this.#view.revision;
  }

  get(key: string): Item | undefined {
    return this.#byKey.get(key);
  }

  /** How many items have an index term. */
  countTerm(term: string): number {
    return this.#view.terms.get(term)?.items.size ?? 0;
  }

  /** An immutable view; the next change copies what it touches. */
  view(): View<Item> {
    this.#edit = undefined;
    return this.#view;
  }

  /** Replaces or, without an item, removes what is under a key. Returns what was there before. */
  set(key: string, item: Item | undefined, revision: Revision): Item | undefined {
    const previous = this.#byKey.get(key);
    this.#edit ??= beginEdit();
    this.#view = withChange(this.#view, previous, item, { termsOf: this.#termsOf, revision, edit: this.#edit });
    if (item) this.#byKey.set(key, item);
    else this.#byKey.delete(key);
    this.#unreadable += Number(item?.unreadable !== undefined) - Number(previous?.unreadable !== undefined);
    return previous;
  }
}
