import type { ServedKind } from '@cluster-apiserver/model/kind';
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

  constructor(all: readonly Resource[], isLoading = false) {
    this.all = all;
    this.resources = all.filter(({ served }) => served.isServed);
    this.stored = all.filter(({ stored, served }) => stored === served);
    this.isLoading = isLoading;
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

  get #lookup(): Index {
    return (this.#index ??= new Index(this));
  }
}

class Index {
  readonly byPath = new Map<string, Resource>();
  readonly byKind = new Map<string, Resource>();
  readonly byGroupKind = new Map<string, Resource>();
  readonly byVersion = new Map<ServedKind, Resource>();

  constructor({ all, resources, stored }: ApiSnapshot) {
    for (const resource of all) this.byVersion.set(resource.served, resource);
    for (const resource of resources) {
      const { served } = resource;
      this.byPath.set(pathOf(served.group, served.version, served.plural), resource);
      this.byKind.set(`${served.apiVersion} ${served.kind}`, resource);
    }
    for (const resource of stored)
      for (const { group, kind, isServed } of resource.kind.versions)
        if (isServed) this.byGroupKind.set(`${group} ${kind}`, resource);
  }
}

const pathOf = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;
