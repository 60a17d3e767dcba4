import type { ItemChange, View } from '@cluster-apiserver/storage';
import type { CachedObject } from '../stored-object.ts';

/**
 * Memory of replaced and removed objects that the initial events of all watchers of a kind may keep. It is more than an
 * event window holds, because a client that loses its snapshot has to begin again.
 */
const replacedBytesMax = 32 * 1024 * 1024;

export class Snapshots {
  /** The oldest first. */
  readonly #taken = new Set<Snapshot>();
  /** By items: writes of other kinds change the revision of a view, but not its items. */
  readonly #ids = new WeakMap<View<CachedObject>['items'], number>();
  #lastId = 0;
  #replacedBytes = 0;

  acquire(view: View<CachedObject>): Snapshot {
    let id = this.#ids.get(view.items);
    if (id === undefined) this.#ids.set(view.items, (id = ++this.#lastId));
    const snapshot: Snapshot = new Snapshot(id, view, this.#replacedBytes, () => this.#taken.delete(snapshot));
    this.#taken.add(snapshot);
    return snapshot;
  }

  changed({ previous }: ItemChange<CachedObject>): void {
    if (this.#taken.size === 0 || !previous) return;
    this.#replacedBytes += previous.weight;
    for (const snapshot of this.#taken) {
      if (this.#replacedBytes - snapshot.sinceBytes <= replacedBytesMax) return;
      snapshot.release();
    }
  }

  /** Releases the snapshots after a reload: their objects would be a second copy of all. */
  releaseAll(): void {
    for (const snapshot of this.#taken) snapshot.release();
  }
}

/** The state that a watcher begins with, for as long as it may be kept. */
export class Snapshot {
  /** The same for snapshots of the same objects. */
  readonly id: number;
  readonly sinceBytes: number;
  readonly #forget: () => void;
  #view: View<CachedObject> | undefined;

  constructor(id: number, view: View<CachedObject>, sinceBytes: number, forget: () => void) {
    this.id = id;
    this.#view = view;
    this.sinceBytes = sinceBytes;
    this.#forget = forget;
  }

  /** Undefined once it was released, also because it kept too much memory. */
  get view(): View<CachedObject> | undefined {
    return this.#view;
  }

  release(): void {
    this.#view = undefined;
    this.#forget();
  }
}
