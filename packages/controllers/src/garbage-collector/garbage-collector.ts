/**
 * Deletes or orphans the dependents of a deleted object, which refer to it in ownerReferences, as the propagation policy
 * of the deletion requires.
 *
 * The graph of owners and dependents follows the watch cache, which delivers all kinds in the order of one revision. So
 * an owner that is missing there is gone, and a dependent that was written before its owner was deleted is known before
 * the deletion is. Every write names the object and the state that it is meant for, and a finalizer is released only
 * after a linearizable read barrier. Two collectors at a time, or one that loses its connection, therefore do no harm.
 */
import type { CachedObject, Resource } from '@cluster-apiserver/registry';
import { type ItemChange, textOfItemKey } from '@cluster-apiserver/storage';
import { callsOf, followAll, isLoaded, itemsWithin, readable, unreadableCount } from '../memory.ts';
import { createPace } from '../pace.ts';
import { createPasses } from '../passes.ts';
import { retryQueue } from '../retry-queue.ts';
import type { ControllerOptions } from '../run-controller.ts';
import { Graph, type GraphNode, type Owner } from './graph.ts';
import { nextActionReader } from './next-action.ts';
import { referenceResolver } from './owner-references.ts';
import { type CollectorAction, createWorker } from './worker.ts';

export type GarbageCollectorOptions = ControllerOptions<GarbageCollectorEvent>;

export type GarbageCollectorEvent =
  | CollectorAction
  /** The graph is complete: at the start, and again after the watch cache was reloaded. */
  | { readonly type: 'synced'; readonly nodes: number }
  /** Tried again after a pause. A conflict with another writer is ordinary. */
  | { readonly type: 'failed'; readonly key: string; readonly tries: number; readonly cause: unknown }
  /** Objects that may depend on it, and owners that it may depend on, wait until it can be read or is gone. */
  | { readonly type: 'unreadable'; readonly key: string; readonly cause: unknown };

/** As many as in kube-controller-manager: enough to keep the storage busy, few enough not to slow down clients. */
const workers = 20;

/** The first pause lets memory catch up after a conflict; the longest bounds the delay after a fault is repaired. */
const pauses = { firstMs: 50, maxMs: 30_000 };

/** Reports per sync; a lost key makes every object of a kind unreadable, and the metric says how many. */
const unreadableReportsMax = 10;

/** Collects until the signal aborts, and resolves when no work is running any more. */
export async function collectGarbage(options: GarbageCollectorOptions): Promise<void> {
  const { resources, clock, random, signal, report, measures } = options;
  if (signal.aborted) return;
  const call = callsOf(clock, signal);
  const pace = createPace(clock, signal);
  const graph = new Graph(resources, referenceResolver(resources));
  const actions = nextActionReader(graph, resources);

  /** The work of the next pass. Each owner is in it once, so the graph bounds it. */
  const pending = { sync: true, waiting: false };
  const changedOwners = new Set<Owner>();
  /** In an incomplete graph an owner may seem to have no dependents, so nothing is enqueued. */
  let isComplete = false;
  const passes = createPasses(clock, signal);

  const worker = createWorker({ graph, actions, clock, isComplete: () => isComplete, signal, call, report });
  const queue = retryQueue<GraphNode>({
    clock,
    random,
    workers,
    pauses,
    work: worker,
    failed: (node, { tries, cause }) => {
      measures.retried();
      report({
        type: 'failed',
        key: node.resource.collection.descriptor.prefix + textOfItemKey(node.itemKey),
        tries,
        cause,
      });
    },
    measures,
  });

  const enqueueIfActionable = (node: GraphNode | undefined): void => {
    if (isComplete && node && actions.nextAction(node)) queue.add(node);
  };
  const updateNode = (resource: Resource, itemKey: string, item: CachedObject | undefined): void => {
    const { node, before } = graph.put(resource, itemKey, readable(item));
    if (!isComplete) return;
    enqueueIfActionable(node);
    for (const { owner } of before) enqueueIfActionable(graph.nodeOf(owner));
  };
  const changed = (resource: Resource, change: ItemChange<CachedObject>): void => {
    updateNode(resource, change.key, change.current);
    for (const owner of graph.refreshOwners(resource, change)) changedOwners.add(owner);
    if (change.previous?.unreadable || change.current?.unreadable) {
      pending.waiting = true;
      measures.unreadable(unreadableCount(resources));
      reportUnreadable(resource, change.current);
    }
    if (changedOwners.size > 0 || pending.waiting) passes.request();
  };
  let unreadableReports = 0;
  const reportUnreadable = ({ collection }: Resource, item: CachedObject | undefined): void => {
    if (!item?.unreadable || unreadableReports === unreadableReportsMax) return;
    unreadableReports++;
    report({ type: 'unreadable', key: collection.descriptor.prefix + textOfItemKey(item.key), cause: item.unreadable });
  };

  /** Brings the graph to what memory holds; changes that arrive meanwhile are put into it as they come. */
  const sync = async (): Promise<void> => {
    pending.sync = false;
    // The load interrupts the followers, and that is the time to sync.
    if (!isLoaded(resources)) return;
    unreadableReports = 0;
    measures.unreadable(unreadableCount(resources));
    for (const { resource, itemKey } of graph.nodes()) {
      updateNode(resource, itemKey, resource.collection.get(itemKey));
      if (pace.isDue()) await pace.pause();
    }
    for (const resource of resources)
      for (const { key } of itemsWithin(resource.collection.view(), '')) {
        const item = resource.collection.get(key);
        if (item?.unreadable) reportUnreadable(resource, item);
        else updateNode(resource, key, item);
        if (pace.isDue()) await pace.pause();
      }
    for (const owner of graph.owners()) {
      graph.refreshOwner(owner);
      if (pace.isDue()) await pace.pause();
    }
    if (pending.sync) return;
    isComplete = true;
    pending.waiting = false;
    changedOwners.clear();
    report({ type: 'synced', nodes: graph.size });
    for (const node of graph.nodes()) {
      enqueueIfActionable(node);
      if (pace.isDue()) await pace.pause();
    }
  };
  const considerDependents = async (): Promise<void> => {
    for (const owner of changedOwners) {
      changedOwners.delete(owner);
      for (const dependent of owner.dependents) {
        enqueueIfActionable(dependent);
        if (pace.isDue()) await pace.pause();
      }
    }
  };
  /** An object that can be read now, or is gone, no longer holds the owners that it may have depended on. */
  const considerWaiting = async (): Promise<void> => {
    pending.waiting = false;
    for (const node of graph.waiting) {
      enqueueIfActionable(node);
      if (pace.isDue()) await pace.pause();
    }
  };

  const unfollow = followAll(resources, {
    changed,
    interrupted: () => {
      isComplete = false;
      pending.sync = true;
      passes.request();
    },
    failed: passes.fail,
  });
  passes.request();
  try {
    await passes.run(async () => {
      if (pending.sync) await sync();
      else if (pending.waiting) await considerWaiting();
      await considerDependents();
    });
  } finally {
    unfollow();
    measures.unreadable(0);
    await queue.close();
  }
}
