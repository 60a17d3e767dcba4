/**
 * Deletes or orphans the dependents of a deleted object, which refer to it in ownerReferences, as the propagation policy
 * of the deletion requires.
 *
 * The graph of owners and dependents follows the watch cache, which delivers the kinds of one etcd in the order of one
 * revision. So an owner that is missing there is gone, and a dependent that was written before its owner was deleted is known
 * before the deletion is. If they are in two etcds, a barrier of both comes first. Every write names the object and the state that it is meant for, and a finalizer is released only
 * after a linearizable read barrier. Two collectors at a time, or one that loses its connection, therefore do no harm.
 */
import { asError } from '@cluster-apiserver/base';
import type { CachedObject, Resource } from '@cluster-apiserver/registry';
import { type ItemChange, textOfItemKey } from '@cluster-apiserver/storage';
import { callsOf, followApi, isLoaded, itemsWithin, readable, unreadableCount } from '../memory.ts';
import { createPace, type Pace } from '../pace.ts';
import { createPasses, type Passes } from '../passes.ts';
import { RetryQueue } from '../retry-queue.ts';
import { type ControllerOptions, logFailure } from '../run-controller.ts';
import { Graph, type GraphNode, type Owner } from './graph.ts';
import { type NextActionReader, nextActionReader } from './next-action.ts';
import { referenceResolver } from './owner-references.ts';
import { createWorker } from './worker.ts';

/** As many as in kube-controller-manager: enough to keep the storage busy, few enough not to slow down clients. */
const workers = 20;

/** The first pause lets memory catch up after a conflict; the longest bounds the delay after a fault is repaired. */
const pauses = { firstMs: 50, maxMs: 30_000 };

/** Reports per sync; a lost key makes every object of a kind unreadable, and the metric says how many. */
const unreadableReportsMax = 10;

/** Collects until the signal aborts, and resolves when no work is running any more. */
export async function collectGarbage(options: ControllerOptions): Promise<void> {
  if (!options.signal.aborted) await new GarbageCollector(options).run();
}

/**
 * Changes of memory update the graph at once. What they may concern besides their own object is done by the next pass: a
 * sync, the dependents of owners whose state has changed, and the nodes that an unreadable object may have held.
 */
class GarbageCollector {
  readonly #options: ControllerOptions;
  readonly #graph: Graph;
  readonly #actions: NextActionReader;
  readonly #queue: RetryQueue<GraphNode>;
  readonly #pace: Pace;
  readonly #passes: Passes;
  /** In an incomplete graph an owner may seem to have no dependents, so nothing is enqueued. */
  #isComplete = false;
  #isSyncDue = true;
  /** The kinds whose objects the next sync brings into the graph. It has had those of all others, and gets their changes. */
  readonly #unsynced = new Set<Resource>();
  #areWaitingNodesDue = false;
  /** Owners whose dependents the next pass considers. Each is in it once, so the graph bounds it. */
  readonly #changedOwners = new Set<Owner>();
  /** How many objects of a kind cannot be read, if there are any. */
  readonly #unreadable = new Map<Resource, number>();
  #unreadableReports = 0;

  constructor(options: ControllerOptions) {
    const { api, clock, random, signal, log, measures } = options;
    this.#options = options;
    this.#graph = new Graph(referenceResolver(api));
    this.#actions = nextActionReader(this.#graph, api);
    this.#pace = createPace(clock, signal);
    this.#passes = createPasses(clock, signal);
    const work = createWorker({
      graph: this.#graph,
      api,
      actions: this.#actions,
      clock,
      isComplete: () => this.#isComplete,
      signal,
      call: callsOf(clock, signal),
      log,
    });
    const failed = (node: GraphNode, failure: { readonly tries: number; readonly cause: unknown }): void => {
      measures.retried();
      logFailure(log, storageKey(node.resource, node.itemKey), failure);
    };
    this.#queue = new RetryQueue({ clock, random, workers, pauses, work, failed, measures });
  }

  async run(): Promise<void> {
    const { api, measures } = this.#options;
    for (const resource of api.stored) this.#unsynced.add(resource);
    const unfollow = followApi(api, () => true, {
      changed: (resource, change) => this.#noteChange(resource, change),
      interrupted: (resource) => {
        this.#unsynced.add(resource);
        this.#requestSync();
      },
      // References to the kinds have to be resolved again.
      kindsChanged: ({ came, went }) => {
        for (const resource of went) {
          this.#unsynced.delete(resource);
          this.#unreadable.delete(resource);
        }
        for (const resource of came) this.#unsynced.add(resource);
        this.#requestSync();
      },
      failed: this.#passes.fail,
    });
    this.#passes.request();
    try {
      await this.#passes.run(async () => {
        if (this.#isSyncDue) await this.#sync();
        else if (this.#areWaitingNodesDue) await this.#considerWaitingNodes();
        await this.#considerDependents();
      });
    } finally {
      unfollow();
      measures.unreadable(0);
      await this.#queue.close();
    }
  }

  #requestSync(): void {
    this.#isComplete = false;
    this.#isSyncDue = true;
    this.#passes.request();
  }

  #noteChange(resource: Resource, change: ItemChange<CachedObject>): void {
    const { previous, current } = change;
    this.#updateNode(resource, change.key, current);
    for (const owner of this.#graph.refreshOwners(resource, change)) this.#changedOwners.add(owner);
    if (previous?.unreadable || current?.unreadable) {
      this.#areWaitingNodesDue = true;
      this.#countUnreadable(resource);
      this.#measureUnreadable();
      this.#reportUnreadable(resource, current);
    }
    if (this.#changedOwners.size > 0 || this.#areWaitingNodesDue) this.#passes.request();
  }

  /**
   * Brings the graph to what memory holds; changes that arrive meanwhile are put into it as they come. Kinds that are not
   * loaded have no nodes, and their objects may be owners and dependents of all others. Their load interrupts the followers,
   * and begins the next sync.
   */
  async #sync(): Promise<void> {
    const { api, log } = this.#options;
    this.#isSyncDue = false;
    this.#unreadableReports = 0;
    await this.#pace.forEach(this.#graph.nodes(), ({ resource, itemKey }) => {
      const isKnown = isLoaded([resource]) && api.ofVersion(resource.served) === resource;
      this.#updateNode(resource, itemKey, isKnown ? resource.collection.get(itemKey) : undefined);
    });
    for (const resource of this.#unsynced) {
      if (!isLoaded([resource])) continue;
      this.#unsynced.delete(resource);
      this.#countUnreadable(resource);
      await this.#pace.forEach(itemsWithin(resource.collection.view(), ''), ({ key }) => {
        const item = resource.collection.get(key);
        if (item?.unreadable) this.#reportUnreadable(resource, item);
        else this.#updateNode(resource, key, item);
      });
    }
    this.#measureUnreadable();
    await this.#pace.forEach(this.#graph.owners(), (owner) => this.#graph.refreshOwner(owner));
    // Memory was loaded again meanwhile.
    if (this.#isSyncDue) return;
    this.#isComplete = true;
    this.#areWaitingNodesDue = false;
    this.#changedOwners.clear();
    log.debug(2, 'garbage collector synced with the watch cache', { nodes: this.#graph.size });
    await this.#pace.forEach(this.#graph.nodes(), (node) => this.#enqueueIfActionable(node));
  }

  async #considerDependents(): Promise<void> {
    for (const owner of this.#changedOwners) {
      this.#changedOwners.delete(owner);
      await this.#pace.forEach(owner.dependents, (dependent) => this.#enqueueIfActionable(dependent));
    }
  }

  /** An object that can be read now, or is gone, no longer holds the owners that it may have depended on. */
  async #considerWaitingNodes(): Promise<void> {
    this.#areWaitingNodesDue = false;
    await this.#pace.forEach(this.#graph.waiting, (node) => this.#enqueueIfActionable(node));
  }

  #updateNode(resource: Resource, itemKey: string, item: CachedObject | undefined): void {
    const { node, before } = this.#graph.put(resource, itemKey, readable(item));
    if (!this.#isComplete) return;
    this.#enqueueIfActionable(node);
    for (const { owner } of before) this.#enqueueIfActionable(this.#graph.nodeOf(owner));
  }

  #enqueueIfActionable(node: GraphNode | undefined): void {
    if (this.#isComplete && node && this.#actions.nextAction(node)) this.#queue.add(node);
  }

  #countUnreadable(resource: Resource): void {
    const count = unreadableCount(resource);
    if (count > 0) this.#unreadable.set(resource, count);
    else this.#unreadable.delete(resource);
  }

  #measureUnreadable(): void {
    this.#options.measures.unreadable(this.#unreadable.values().reduce((sum, count) => sum + count, 0));
  }

  #reportUnreadable(resource: Resource, item: CachedObject | undefined): void {
    if (!item?.unreadable || this.#unreadableReports === unreadableReportsMax) return;
    this.#unreadableReports++;
    this.#options.log.warn(
      // Meaning: The object cannot be decrypted, so its owners are unknown. What it may own or depend on is not
      // deleted.
      'stored object unreadable; garbage collection of its owners and dependents waits until it is repaired or deleted',
      'configure the key that encrypted it, or delete the key from etcd: docs/troubleshooting.md',
      { key: storageKey(resource, item.key), error: asError(item.unreadable) },
    );
  }
}

const storageKey = ({ collection }: Resource, itemKey: string): string =>
  collection.descriptor.prefix + textOfItemKey(itemKey);
