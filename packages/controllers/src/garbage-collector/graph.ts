import type { CachedObject, Resource, StoredObject } from '@cluster-apiserver/registry';
import type { ItemChange } from '@cluster-apiserver/storage';
import { Bag, type ReadonlyBag } from './bag.ts';
import { type OwnerState, ownerStateOf, type Waiting, waitingOf } from './owner-state.ts';
import type { ReferenceResolver, ResolvedReference } from './owner-references.ts';

/** An object that names owners, also of kinds that may come, or whose deletion waits for its dependents. */
export interface GraphNode {
  readonly resource: Resource;
  readonly itemKey: string;
  /** The object as memory holds it. */
  readonly object: StoredObject;
  readonly owners: readonly OwnerEdge[];
  /** It also has owners of kinds that are not served here; they count as present. */
  readonly hasUnknownOwners: boolean;
  readonly waiting: Waiting | undefined;
}

export interface OwnerEdge {
  readonly owner: Owner;
  /** The owner, deleted in the foreground, waits for this dependent. */
  readonly blocks: boolean;
}

/** An owner as its dependents refer to it. A name can be reused and a uid cannot, so both together identify it. */
export interface Owner {
  readonly resource: Resource;
  readonly itemKey: string;
  readonly uid: string;
  readonly state: OwnerState;
  readonly dependents: ReadonlySet<GraphNode>;
  /** How many of the dependents block. */
  readonly blockerCount: number;
  /** The blocking dependents that are deleted in the foreground, too; undefined if there never was one. */
  readonly waitingBlockers: ReadonlyBag<GraphNode> | undefined;
}

type Mutable<T> = { -readonly [Field in keyof T]: T[Field] };
type MutableOwner = Omit<Mutable<Owner>, 'dependents' | 'waitingBlockers'> & {
  readonly dependents: Set<GraphNode>;
  waitingBlockers: Bag<GraphNode> | undefined;
};
type MutableNode = Omit<Mutable<GraphNode>, 'owners'> & { owners: readonly MutableEdge[] };
type MutableEdge = { readonly owner: MutableOwner; readonly blocks: boolean };

interface Table {
  readonly nodes: Map<string, MutableNode>;
  /** By name and uid: dependents may name any number of uids for one name. */
  readonly owners: Map<string, Map<string, MutableOwner>>;
}

/** The graph of owners and dependents. It follows the watch cache change by change, so both have the same revision. */
export class Graph {
  /** Of the kinds that have nodes or owners: most of many have none. */
  readonly #tables = new Map<Resource, Table>();
  readonly #resolve: ReferenceResolver;
  readonly #waiting = new Set<GraphNode>();

  constructor(resolve: ReferenceResolver) {
    this.#resolve = resolve;
  }

  get size(): number {
    return this.#tables.values().reduce((sum, { nodes }) => sum + nodes.size, 0);
  }

  *nodes(): Generator<GraphNode, void> {
    for (const { nodes } of this.#tables.values()) yield* nodes.values();
  }

  *owners(): Generator<Owner, void> {
    for (const { owners } of this.#tables.values()) for (const byUid of owners.values()) yield* byUid.values();
  }

  /** The nodes whose deletion waits for dependents. */
  get waiting(): ReadonlySet<GraphNode> {
    return this.#waiting;
  }

  has(node: GraphNode): boolean {
    return this.node(node.resource, node.itemKey) === node;
  }

  node(resource: Resource, itemKey: string): GraphNode | undefined {
    return this.#tables.get(resource)?.nodes.get(itemKey);
  }

  /** The node of an owner, if the owner exists and has one. */
  nodeOf(owner: Owner): GraphNode | undefined {
    const node = this.node(owner.resource, owner.itemKey);
    return node?.object.uid === owner.uid ? node : undefined;
  }

  /** The node as an owner; undefined if nothing depends on it. */
  ownerOf({ resource, itemKey, object }: GraphNode): Owner | undefined {
    return this.#tables.get(resource)?.owners.get(itemKey)?.get(object.uid);
  }

  /** Compares the owners that a change concerns with memory; returns those whose state has changed. */
  refreshOwners(resource: Resource, { key, previous, current }: ItemChange<CachedObject>): readonly Owner[] {
    const byUid = this.#tables.get(resource)?.owners.get(key);
    if (!byUid) return noOwners;
    // An unreadable object may be any of those that its name is given to.
    const concerned =
      previous?.unreadable || current?.unreadable
        ? [...byUid.values()]
        : [...new Set([previous?.uid, current?.uid])].flatMap((uid) => byUid.get(uid ?? '') ?? []);
    return concerned.filter((owner) => this.refreshOwner(owner));
  }

  /** Whether the state of the owner has changed. */
  refreshOwner(owner: Owner): boolean {
    const { resource, itemKey, uid, state } = owner;
    const known: MutableOwner | undefined = this.#tables.get(resource)?.owners.get(itemKey)?.get(uid);
    if (!known) return false;
    known.state = readState(resource, itemKey, uid);
    return known.state !== state;
  }

  /** Takes over an object as it is now; undefined removes its node. Returns the node, and the owners that it had. */
  put(
    resource: Resource,
    itemKey: string,
    object: StoredObject | undefined,
  ): { readonly node: GraphNode | undefined; readonly before: readonly OwnerEdge[] } {
    const existing = this.#tables.get(resource)?.nodes.get(itemKey);
    const before = existing?.owners ?? noEdges;
    const waiting = object && waitingOf(object);
    const resolved = object && this.#resolve(resource, object);
    if (!object || !resolved || (resolved.references.length === 0 && !resolved.hasUnknownOwners && !waiting)) {
      if (!existing) return nothing;
      this.#relink(existing, noEdges);
      this.#table(resource).nodes.delete(itemKey);
      this.#deleteIfEmpty(resource);
      this.#waiting.delete(existing);
      return { node: undefined, before };
    }
    const { references, hasUnknownOwners } = resolved;
    const node = existing ?? { resource, itemKey, object, owners: noEdges, hasUnknownOwners, waiting };
    if (!existing) this.#table(resource).nodes.set(itemKey, node);
    node.object = object;
    node.hasUnknownOwners = hasUnknownOwners;
    node.waiting = waiting;
    if (waiting) this.#waiting.add(node);
    else this.#waiting.delete(node);
    this.#relink(node, this.#edges(references));
    return { node, before };
  }

  #edges(references: readonly ResolvedReference[]): readonly MutableEdge[] {
    const blocksByOwner = new Map<MutableOwner, boolean>();
    for (const reference of references) {
      const owner = this.#owner(reference);
      blocksByOwner.set(owner, reference.blocks || blocksByOwner.get(owner) === true);
    }
    return Array.from(blocksByOwner, ([owner, blocks]) => ({ owner, blocks }));
  }

  /** The new edges first: an owner that stays keeps its entry. */
  #relink(node: MutableNode, edges: readonly MutableEdge[]): void {
    const before = node.owners;
    node.owners = edges;
    const kept = new Set<MutableOwner>();
    for (const { owner, blocks } of edges) {
      kept.add(owner);
      owner.dependents.add(node);
      if (blocks) owner.blockerCount++;
      if (blocks && node.waiting === 'foreground') (owner.waitingBlockers ??= new Bag()).add(node);
      else owner.waitingBlockers?.delete(node);
    }
    for (const { owner, blocks } of before) {
      if (blocks) owner.blockerCount--;
      if (kept.has(owner)) continue;
      owner.waitingBlockers?.delete(node);
      owner.dependents.delete(node);
      if (owner.dependents.size === 0) this.#forget(owner);
    }
  }

  #owner({ resource, itemKey, uid }: ResolvedReference): MutableOwner {
    const { owners } = this.#table(resource);
    let byUid = owners.get(itemKey);
    if (!byUid) owners.set(itemKey, (byUid = new Map()));
    let owner = byUid.get(uid);
    if (!owner) {
      const state = readState(resource, itemKey, uid);
      owner = { resource, itemKey, uid, state, dependents: new Set(), blockerCount: 0, waitingBlockers: undefined };
      byUid.set(uid, owner);
    }
    return owner;
  }

  #forget({ resource, itemKey, uid }: Owner): void {
    const { owners } = this.#table(resource);
    const byUid = owners.get(itemKey);
    byUid?.delete(uid);
    if (byUid?.size === 0) owners.delete(itemKey);
    this.#deleteIfEmpty(resource);
  }

  #table(resource: Resource): Table {
    let table = this.#tables.get(resource);
    if (!table) this.#tables.set(resource, (table = { nodes: new Map(), owners: new Map() }));
    return table;
  }

  #deleteIfEmpty(resource: Resource): void {
    const { nodes, owners } = this.#table(resource);
    if (nodes.size + owners.size === 0) this.#tables.delete(resource);
  }
}

/** While the objects of a kind are not served, it is unknown whether an owner exists. */
const readState = ({ collection }: Resource, itemKey: string, uid: string): OwnerState =>
  collection.isReady ? ownerStateOf(collection.get(itemKey), uid) : 'unreadable';

const noEdges: readonly MutableEdge[] = [];
const noOwners: readonly Owner[] = [];
const nothing = { node: undefined, before: noEdges };
