import type { Revision } from '../revision.ts';
import type { Keyed } from './sorted-set.ts';
import type { View } from './view.ts';

/** Views of paged lists. They keep what has changed since in memory, as the window does anyway. */
const retainedViewsMax = 64;

/** Past views that clients will continue to list, in the order in which they were added. */
export class RetainedViews<Item extends Keyed> {
  readonly #views = new Map<Revision, View<Item>>();
  #epoch = 0;

  /** Changes when all views become invalid, such as with another history. */
  get epoch(): number {
    return this.#epoch;
  }

  get(revision: Revision): View<Item> | undefined {
    return this.#views.get(revision);
  }

  /** Adds a view that was made in an epoch, unless that is over. */
  add(view: View<Item>, epoch: number): void {
    if (epoch !== this.#epoch) return;
    this.#views.set(view.revision, view);
    if (this.#views.size <= retainedViewsMax) return;
    for (const oldest of this.#views.keys()) {
      this.#views.delete(oldest);
      return;
    }
  }

  /** Drops views that are older than the window, because they alone would keep their objects in memory. */
  dropBefore(since: Revision): void {
    if (this.#views.size === 0) return; // called for every change
    for (const revision of this.#views.keys()) if (revision < since) this.#views.delete(revision);
  }

  clear(): void {
    this.#epoch++;
    this.#views.clear();
  }
}
