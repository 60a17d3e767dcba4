import { type Call, invariant } from '@cluster-apiserver/base';
import type { Kind, ServedKind } from '@cluster-apiserver/model/kind';
import { ApiSnapshot } from './api-snapshot.ts';
import type { Resource } from './resource.ts';

/** What is served now. Code that derives something from it reads it each time, or listens to its changes. */
export interface LiveApi {
  readonly current: ApiSnapshot;
  /** Calls back after each change, in the same turn, until the returned function is called. */
  onChange(listener: (current: ApiSnapshot, previous: ApiSnapshot) => void): () => void;
  /**
   * Waits until a kind is served here that another replica has served before; absent where no kinds come. Clients reach
   * one replica after the other.
   */
  readonly catchUp?: ((kind: Pick<ServedKind, 'group' | 'plural'>, call: Call) => Promise<void>) | undefined;
}

/** How the objects of a kind come into memory, and go. */
export interface KindLoader {
  /** Rejects if the kind is closed before its objects are loaded. */
  open(kind: Kind): Promise<readonly Resource[]>;
  /** Another kind of the same objects as they are in memory; undefined if it would read them in another way. */
  renew(before: Kind, kind: Kind): Promise<readonly Resource[] | undefined>;
  /** Ends the watches of its objects, and reads that have begun. */
  close(kind: Kind): void;
}

export class ServedApi implements LiveApi {
  catchUp: LiveApi['catchUp'];
  readonly #loader: KindLoader;
  readonly #listeners = new Set<Parameters<LiveApi['onChange']>[0]>();
  /** The kinds that are to be served next, by the prefix of their keys. */
  readonly #loading = new Map<string, Kind>();
  #current: ApiSnapshot;

  constructor(resources: readonly Resource[], loader: KindLoader) {
    this.#loader = loader;
    this.#current = new ApiSnapshot(resources);
  }

  get current(): ApiSnapshot {
    return this.#current;
  }

  onChange(listener: Parameters<LiveApi['onChange']>[0]): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Serves a kind as soon as its objects are loaded. Rejects if it is removed or replaced before. Its paths and the place
   * of its objects must not be those of another kind.
   */
  async add(kind: Kind): Promise<void> {
    invariant(!this.#present(kind), `${kind.storage.prefix} is the place of a kind that is served already`);
    this.#requireOwnNames(kind);
    await this.#load(kind);
  }

  /**
   * Serves other versions, or another schema, of what is stored at the same place. Watches go on if the objects stay as they
   * are. Otherwise they end, and until the objects are loaded again, requests wait.
   */
  async replace(kind: Kind): Promise<void> {
    this.#requireOwnNames(kind);
    const before = this.#present(kind);
    const renewed = before && !this.#loading.has(kind.storage.prefix) && (await this.#loader.renew(before, kind));
    if (renewed) return this.#publish(kind, renewed);
    if (before) this.#loader.close(before);
    await this.#load(kind);
  }

  /** The kind is not served any more; its objects stay where they are stored. All its watches end. */
  remove(kind: Kind): void {
    const { prefix } = kind.storage;
    const present = this.#present(kind);
    if (!present) return;
    this.#loading.delete(prefix);
    this.#publish(kind);
    this.#loader.close(present);
  }

  async #load(kind: Kind): Promise<void> {
    const { prefix } = kind.storage;
    this.#loading.set(prefix, kind);
    this.#publish();
    try {
      const opened = await this.#loader.open(kind);
      // Replaced or removed in the turn in which it was loaded.
      if (this.#loading.get(prefix) !== kind) return;
      this.#loading.delete(prefix);
      this.#publish(kind, opened);
    } catch (error) {
      if (this.#loading.get(prefix) === kind) {
        this.#loading.delete(prefix);
        this.#publish();
      }
      throw error;
    }
  }

  #requireOwnNames({ storage, versions }: Kind): void {
    const present = [...this.#current.stored.map(({ kind }) => kind), ...this.#loading.values()];
    const others = present.filter((kind) => kind.storage.prefix !== storage.prefix).flatMap((kind) => kind.versions);
    for (const { group, version, plural, kind } of versions) {
      const other = others.find(
        (one) => one.group === group && one.version === version && (one.plural === plural || one.kind === kind),
      );
      invariant(!other, `${plural} or ${kind} is the name of another kind in ${group}/${version}`);
    }
  }

  /** The kind that is served from the same place, or will be. */
  #present({ storage: { prefix } }: Kind): Kind | undefined {
    const served = this.#current.stored.find(({ kind }) => kind.storage.prefix === prefix);
    return this.#loading.get(prefix) ?? served?.kind;
  }

  /** Serves other resources of a kind, or none; without a kind only how many are being loaded has changed. */
  #publish(kind?: Kind, resources: readonly Resource[] = []): void {
    const previous = this.#current;
    this.#current = previous.replace(kind, resources, this.#loading.size > 0);
    for (const listener of this.#listeners) listener(this.#current, previous);
  }
}

/** The same API with other resources, such as ones that write only as long as this replica leads. */
export function mapApi(api: LiveApi, map: (resource: Resource) => Resource): LiveApi {
  const resources = new WeakMap<Resource, Resource>();
  const snapshots = new WeakMap<ApiSnapshot, ApiSnapshot>();
  const mapped = (resource: Resource): Resource => {
    const known = resources.get(resource) ?? map(resource);
    resources.set(resource, known);
    return known;
  };
  const snapshotOf = (snapshot: ApiSnapshot): ApiSnapshot => {
    const known = snapshots.get(snapshot) ?? new ApiSnapshot(snapshot.all.map(mapped), snapshot.isLoading);
    snapshots.set(snapshot, known);
    return known;
  };
  return {
    get current() {
      return snapshotOf(api.current);
    },
    onChange: (listener) => api.onChange((current, previous) => listener(snapshotOf(current), snapshotOf(previous))),
  };
}
