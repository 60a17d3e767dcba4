import { ApiSnapshot } from './api-snapshot.ts';
import type { Resource } from './resource.ts';

/** What is served now. Whoever derives something from it reads it each time, or listens to its changes. */
export interface LiveApi {
  readonly current: ApiSnapshot;
  /** Calls back after each change, in the same turn, until the returned function is called. */
  onChange(listener: (current: ApiSnapshot, previous: ApiSnapshot) => void): () => void;
}

export class ServedApi implements LiveApi {
  #current: ApiSnapshot;
  readonly #listeners = new Set<Parameters<LiveApi['onChange']>[0]>();

  constructor(resources: readonly Resource[]) {
    this.#current = new ApiSnapshot(resources);
  }

  get current(): ApiSnapshot {
    return this.#current;
  }

  onChange(listener: Parameters<LiveApi['onChange']>[0]): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
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
    const known = snapshots.get(snapshot) ?? new ApiSnapshot(snapshot.resources.map(mapped), snapshot.isLoading);
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
