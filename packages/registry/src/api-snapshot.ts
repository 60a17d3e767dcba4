import type { Kind, ServedKind } from '@cluster-apiserver/model/kind';
import type { Resource } from './resource.ts';

/** What is served at one time. It never changes: a request keeps the snapshot that it began with. */
export class ApiSnapshot {
  /** All versions of all kinds, the stored one of each first, whether clients see them or not. */
  readonly all: readonly Resource[];
  /** Those that clients see. */
  readonly resources: readonly Resource[];
  /** One for each kind, in its stored version. */
  readonly stored: readonly Resource[];
  /** Whether objects of a kind that is not served yet are still being loaded. */
  readonly isLoading: boolean;
  /** Made when something is looked up: while kinds come one after the other, most snapshots are never used. */
  #index: Index | undefined;

  /** `index`: that of its resources, if it is there already. */
  constructor(all: readonly Resource[], isLoading = false, index?: Index) {
    this.all = all;
    this.resources = all.filter(({ served }) => served.isServed);
    this.stored = all.filter(({ stored, served }) => stored === served);
    this.isLoading = isLoading;
    this.#index = index;
  }

  byPath(group: string, version: string, plural: string): Resource | undefined {
    return this.#lookup.byPath.get(pathOf(group, version, plural));
  }

  byKind(apiVersion: string, kind: string): Resource | undefined {
    return this.#lookup.byKind.get(`${apiVersion} ${kind}`);
  }

  /** In the stored version, whichever versions the group serves. */
  byGroupKind(group: string, kind: string): Resource | undefined {
    return this.#lookup.byGroupKind.get(`${group} ${kind}`);
  }

  /** The kind in one of its versions; undefined if it is not served any more. */
  ofVersion(version: ServedKind): Resource | undefined {
    return this.#lookup.byVersion.get(version);
  }

  /** The same objects in the version in which they are stored. */
  storedOf({ stored }: Resource): Resource | undefined {
    return this.ofVersion(stored);
  }

  /** The same objects in the other versions that clients see. */
  equivalentsOf(version: ServedKind): readonly ServedKind[] {
    return this.ofVersion(version)?.kind.versions.filter((other) => other !== version && other.isServed) ?? [];
  }

  /** The same without the resources of one kind, and with others. Few kinds change at a time, so its index is a copy. */
  replace(kind: Kind | undefined, came: readonly Resource[], isLoading: boolean): ApiSnapshot {
    const went = kind ? this.all.filter(({ stored }) => stored.storage.prefix === kind.storage.prefix) : [];
    if (went.length === 0 && came.length === 0) return new ApiSnapshot(this.all, isLoading, this.#index);
    const removed = new Set(went);
    const all = [...this.all.filter((resource) => !removed.has(resource)), ...came];
    const index = this.#index?.copy();
    for (const resource of went) index?.remove(resource);
    for (const resource of came) index?.add(resource);
    return new ApiSnapshot(all, isLoading, index);
  }

  get #lookup(): Index {
    if (this.#index) return this.#index;
    this.#index = new Index();
    for (const resource of this.all) this.#index.add(resource);
    return this.#index;
  }
}

class Index {
  readonly byPath: Map<string, Resource>;
  readonly byKind: Map<string, Resource>;
  readonly byGroupKind: Map<string, Resource>;
  readonly byVersion: Map<ServedKind, Resource>;

  constructor(like?: Index) {
    this.byPath = new Map(like?.byPath);
    this.byKind = new Map(like?.byKind);
    this.byGroupKind = new Map(like?.byGroupKind);
    this.byVersion = new Map(like?.byVersion);
  }

  copy(): Index {
    return new Index(this);
  }

  add(resource: Resource): void {
    const { served, stored } = resource;
    this.byVersion.set(served, resource);
    if (served.isServed) {
      this.byPath.set(pathOf(served.group, served.version, served.plural), resource);
      this.byKind.set(`${served.apiVersion} ${served.kind}`, resource);
    }
    if (stored === served) for (const name of groupKindsOf(resource)) this.byGroupKind.set(name, resource);
  }

  /** No two kinds are served at one path. */
  remove(resource: Resource): void {
    const { served } = resource;
    this.byVersion.delete(served);
    this.byPath.delete(pathOf(served.group, served.version, served.plural));
    this.byKind.delete(`${served.apiVersion} ${served.kind}`);
    for (const name of groupKindsOf(resource))
      if (this.byGroupKind.get(name)?.stored === resource.stored) this.byGroupKind.delete(name);
  }
}

const groupKindsOf = ({ stored }: Resource): readonly string[] =>
  stored.versions.flatMap(({ group, kind, isServed }) => (isServed ? [`${group} ${kind}`] : []));

const pathOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;
