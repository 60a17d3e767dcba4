import { type Clock, unreachable } from '@cluster-apiserver/base';
import { foregroundFinalizer, orphanFinalizer } from '@cluster-apiserver/model/validation';
import type { Call } from '@cluster-apiserver/storage';
import type { LiveApi, Resource } from '@cluster-apiserver/registry';
import type { Log } from '@cluster-apiserver/telemetry';
import { onePerFeed, readBarrier } from '../memory.ts';
import type { Graph, GraphNode } from './graph.ts';
import type { NextActionReader } from './next-action.ts';
import { evaluateDependent } from './verdict.ts';
import { deleteDependent, detach, releaseFinalizer } from './writes.ts';

export interface WorkerOptions {
  readonly graph: Graph;
  readonly api: LiveApi;
  readonly actions: NextActionReader;
  readonly clock: Clock;
  /** False while the graph is built again. */
  readonly isComplete: () => boolean;
  readonly signal: AbortSignal;
  readonly call: () => Call;
  readonly log: Log;
}

/**
 * The graph of a replica whose watch has stalled is stale. Writes are conditional, so that does little harm, and one
 * read barrier in this many milliseconds excludes the rest.
 */
const freshForMs = 100;

/** Runs the next step for a node of the graph; a no-op if the graph has changed meanwhile. */
export function createWorker(options: WorkerOptions): (node: GraphNode) => Promise<void> {
  const { graph, api, actions, clock, isComplete, signal, call, log } = options;
  /** When each feed was last asked, with success. */
  const provenFreshMs = new WeakMap<object, number>();

  const readFresh = async (resources: readonly Resource[]): Promise<void> => {
    const askedMs = clock.monotonicMs();
    await readBarrier(resources, call(), signal);
    for (const { collection } of resources) provenFreshMs.set(collection.feed, askedMs);
  };
  const evaluateOwners = async (node: GraphNode): Promise<void> => {
    const concerned = onePerFeed([node.resource, ...node.owners.map(({ owner }) => owner.resource)]);
    const isFresh = ({ collection }: Resource): boolean =>
      clock.monotonicMs() - (provenFreshMs.get(collection.feed) ?? Number.NEGATIVE_INFINITY) <= freshForMs;
    // The feed of one etcd has an owner before its dependent; that of another one may be behind.
    if (concerned.length > 1 || !concerned.every(isFresh)) await readFresh(concerned);
    if (nextActionOf(node) !== 'evaluate owners') return;
    const hasDependents = graph.ownerOf(node) !== undefined;
    const verdict = evaluateDependent(node, hasDependents);
    if (!verdict) return;
    const { resource, object } = node;
    if (verdict.type === 'delete') await deleteDependent(resource, object, verdict.propagationPolicy, call());
    else await detach(resource, object, verdict.from, call());
    logWrite(verdict.type === 'delete' ? 'deleted' : 'detached', node);
  };
  const releaseOwner = async (node: GraphNode): Promise<void> => {
    // The owner has no dependents. After the barrier, memory holds every dependent that exists by now.
    await readFresh(onePerFeed(api.stored));
    if (nextActionOf(node) !== 'release finalizer') return;
    const finalizer = node.waiting === 'orphan' ? orphanFinalizer : foregroundFinalizer;
    await releaseFinalizer(node.resource, node.object, finalizer, call());
    logWrite('released', node);
  };
  const nextActionOf = (node: GraphNode) => (isComplete() && graph.has(node) ? actions.nextAction(node) : undefined);
  const logWrite = (
    type: 'deleted' | 'detached' | 'released',
    { resource: { kind }, object: { namespace, name } }: GraphNode,
  ): void =>
    log.debug(2, 'garbage collector wrote an object', {
      type,
      kind: kind.kind,
      namespace: kind.namespaced ? namespace : undefined,
      name,
    });

  return async (node) => {
    const action = nextActionOf(node);
    switch (action) {
      case 'evaluate owners':
        return evaluateOwners(node);
      case 'release finalizer':
        return releaseOwner(node);
      case undefined:
        return;
      default:
        return unreachable(action);
    }
  };
}
