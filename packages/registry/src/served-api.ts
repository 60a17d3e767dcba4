import { type Call, invariant } from '@cluster-apiserver/base';
import type { Kind, ServedKind } from '@cluster-apiserver/model/kind';
import type { Resource } from './resource.ts';

/** What is served now. Code that derives something from it reads it each time, or listens to its changes. */
export interface LiveApi {
  /** The versions of all kinds that clients see: the same list until one comes or goes. */
  readonly resources: readonly Resource[];
  /** One for each kind, in its stored version: the same list until a kind comes or goes. */
  readonly stored: readonly Resource[];
  /** Whether objects of a kind that is not served yet are still being loaded. */
  readonly isLoading: boolean;
  byPath(group: string, version: string, plural: string): Resource | undefined;
  byKind(apiVersion: string, kind: string): Resource | undefined;
  /** In the stored version, whichever versions the group serves. */
  byGroupKind(group: string, kind: string): Resource | undefined;
  /** The kind of a CustomResourceDefinition, in the stored version. */
  byDefinition(name: string): Resource | undefined;
  /** The kind in one of its versions; undefined if it is not served any more. */
  ofVersion(version: ServedKind): Resource | undefined;
  /** Calls back after each change, in the same turn, until the returned function is called. */
  onChange(listener: (change: ApiChange) => void): () => void;
  /**
   * Waits until a kind is served here that another replica has served before; absent where no kinds come. Clients reach
   * one replica after the other.
   */
  readonly catchUp?: ((kind: Pick<ServedKind, 'group' | 'plural'>, call: Call) => Promise<void>) | undefined;
}

/** All versions of a kind, whether clients see them or not. Without any of them a kind that was being loaded will not come. */
export interface ApiChange {
  readonly came: readonly Resource[];
  readonly went: readonly Resource[];
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

/** A change takes as long as the kind has versions, however many others are served. */
export class ServedApi implements LiveApi {
  catchUp: LiveApi['catchUp'];
  readonly #loader: KindLoader;
  readonly #listeners = new Set<Parameters<LiveApi['onChange']>[0]>();
  /** The kinds that are to be served next, by the prefix of their keys. */
  readonly #loading = new Map<string, Kind>();
  /** All versions of each kind, the stored one first, by the prefix of its keys. */
  readonly #byPrefix = new Map<string, readonly Resource[]>();
  readonly #byPath = new Map<string, Resource>();
  readonly #byKind = new Map<string, Resource>();
  readonly #byGroupKind = new Map<string, Resource>();
  readonly #byDefinition = new Map<string, Resource>();
  readonly #byVersion = new Map<ServedKind, Resource>();
  /** Made at their first use: most of them are never used while kinds come one after the other. */
  #resources: readonly Resource[] | undefined;
  #stored: readonly Resource[] | undefined;

  /** `kinds`: all versions of each, the stored one first. */
  constructor(kinds: readonly (readonly Resource[])[], loader: KindLoader) {
    this.#loader = loader;
    for (const versions of kinds) this.#put(versions);
  }

  get resources(): readonly Resource[] {
    return (this.#resources ??= [...this.#byPrefix.values()].flat().filter(({ served }) => served.isServed));
  }

  get stored(): readonly Resource[] {
    return (this.#stored ??= [...this.#byPrefix.values()].flatMap(([stored]) => stored ?? []));
  }

  get isLoading(): boolean {
    return this.#loading.size > 0;
  }

  byPath(group: string, version: string, plural: string): Resource | undefined {
    return ifServed(this.#byPath.get(pathOf({ group, version, plural })));
  }

  byKind(apiVersion: string, kind: string): Resource | undefined {
    return ifServed(this.#byKind.get(kindOf({ apiVersion, kind })));
  }

  byGroupKind(group: string, kind: string): Resource | undefined {
    return this.#byGroupKind.get(groupKindOf({ group, kind }));
  }

  byDefinition(name: string): Resource | undefined {
    return this.#byDefinition.get(name);
  }

  ofVersion(version: ServedKind): Resource | undefined {
    return this.#byVersion.get(version);
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
    if (renewed) return this.#change(kind, renewed);
    if (before) this.#loader.close(before);
    await this.#load(kind);
  }

  /** The kind is not served any more; its objects stay where they are stored. All its watches end. */
  remove(kind: Kind): void {
    const present = this.#present(kind);
    if (!present) return;
    this.#loading.delete(kind.storage.prefix);
    this.#change(kind, []);
    this.#loader.close(present);
  }

  async #load(kind: Kind): Promise<void> {
    const { prefix } = kind.storage;
    this.#loading.set(prefix, kind);
    try {
      const opened = await this.#loader.open(kind);
      // Replaced or removed in the turn in which it was loaded.
      if (this.#loading.get(prefix) !== kind) return;
      this.#loading.delete(prefix);
      this.#change(kind, opened);
    } catch (error) {
      if (this.#loading.get(prefix) === kind) {
        this.#loading.delete(prefix);
        this.#announce({ came: [], went: [] });
      }
      throw error;
    }
  }

  #requireOwnNames({ storage: { prefix }, versions }: Kind): void {
    const loading = [...this.#loading.values()].filter(({ storage }) => storage.prefix !== prefix);
    const loadingVersions = loading.flatMap((kind) => kind.versions);
    for (const version of versions) {
      const served = [this.#byPath.get(pathOf(version)), this.#byKind.get(kindOf(version))];
      const isTaken =
        served.some((other) => other && other.stored.storage.prefix !== prefix) ||
        loadingVersions.some((other) => pathOf(other) === pathOf(version) || kindOf(other) === kindOf(version));
      const { plural, kind, apiVersion } = version;
      invariant(!isTaken, `${plural} or ${kind} is the name of another kind in ${apiVersion}`);
    }
  }

  /** The kind that is served from the same place, or will be. */
  #present({ storage: { prefix } }: Kind): Kind | undefined {
    return this.#loading.get(prefix) ?? this.#byPrefix.get(prefix)?.[0]?.kind;
  }

  /** Serves other resources of a kind, or none. */
  #change({ storage: { prefix } }: Kind, came: readonly Resource[]): void {
    const went = this.#byPrefix.get(prefix) ?? [];
    this.#take(prefix, went);
    this.#put(came);
    this.#announce({ came, went });
  }

  #announce(change: ApiChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  #put(versions: readonly Resource[]): void {
    const [stored] = versions;
    if (!stored) return;
    const { kind } = stored;
    this.#byPrefix.set(kind.storage.prefix, versions);
    for (const resource of versions) {
      this.#byVersion.set(resource.served, resource);
      this.#byPath.set(pathOf(resource.served), resource);
      this.#byKind.set(kindOf(resource.served), resource);
      if (resource.served.isServed) this.#byGroupKind.set(groupKindOf(resource.served), stored);
    }
    if (kind.definition !== undefined) this.#byDefinition.set(kind.definition, stored);
    this.#forgetLists();
  }

  #take(prefix: string, versions: readonly Resource[]): void {
    this.#byPrefix.delete(prefix);
    for (const { served, stored } of versions) {
      this.#byVersion.delete(served);
      this.#byPath.delete(pathOf(served));
      this.#byKind.delete(kindOf(served));
      // Another kind of the group may have the name in other versions.
      if (this.#byGroupKind.get(groupKindOf(served))?.stored === stored) this.#byGroupKind.delete(groupKindOf(served));
      if (stored.definition !== undefined) this.#byDefinition.delete(stored.definition);
    }
    this.#forgetLists();
  }

  #forgetLists(): void {
    this.#resources = undefined;
    this.#stored = undefined;
  }
}

const ifServed = (resource: Resource | undefined): Resource | undefined =>
  resource?.served.isServed ? resource : undefined;

const pathOf = ({ group, version, plural }: Pick<ServedKind, 'group' | 'version' | 'plural'>): string =>
  `${group}/${version}/${plural}`;

const kindOf = ({ apiVersion, kind }: Pick<ServedKind, 'apiVersion' | 'kind'>): string => `${apiVersion} ${kind}`;

const groupKindOf = ({ group, kind }: Pick<ServedKind, 'group' | 'kind'>): string => `${group} ${kind}`;
