import { unreachable } from '@cluster-apiserver/base';
import { hasUnreadableWithin, type LiveApi, type Resource } from '@cluster-apiserver/registry';
import { itemKey } from '@cluster-apiserver/storage';
import type { Graph, GraphNode, Owner } from './graph.ts';
import { isTerminating } from './owner-state.ts';

/** The next action for a node: evaluate its owners, or release its own finalizer. */
export type NextAction = 'evaluate owners' | 'release finalizer';

export interface NextActionReader {
  nextAction(node: GraphNode): NextAction | undefined;
  /** Whether nothing holds a deletion any more that waits for dependents. */
  mayRelease(node: GraphNode): boolean;
}

export function nextActionReader(graph: Graph, api: LiveApi): NextActionReader {
  const mayRelease = (node: GraphNode): boolean =>
    node.waiting !== undefined &&
    // An object of a kind that is still being loaded may depend on it.
    !api.isLoading &&
    !isAwaited(graph, node) &&
    !hasUnreadableBeside(api.stored, node);
  return {
    mayRelease,
    nextAction: (node) => {
      // An owner that orphans its dependents waits for each of them, even for those that are being deleted.
      if (node.owners.some(({ owner }) => owner.state === 'orphan')) return 'evaluate owners';
      if (isTerminating(node.object)) return mayRelease(node) ? 'release finalizer' : undefined;
      const isAbandoned = node.owners.some(({ owner }) => owner.state === 'absent' || owner.state === 'foreground');
      return isAbandoned ? 'evaluate owners' : undefined;
    },
  };
}

function isAwaited(graph: Graph, node: GraphNode): boolean {
  const owner = graph.ownerOf(node);
  if (!owner || node.waiting === undefined) return false;
  switch (node.waiting) {
    case 'foreground':
      return isBlocked(graph, node, owner);
    case 'orphan':
      return owner.dependents.size > 0;
    default:
      return unreachable(node.waiting);
  }
}

/** An unreadable object may depend on everything that is cluster-scoped, and on everything in its own namespace. */
function hasUnreadableBeside(resources: readonly Resource[], { resource, object }: GraphNode): boolean {
  if (!resource.kind.namespaced) return resources.some((other) => hasUnreadableWithin(other, ''));
  const namespace = itemKey(`${object.namespace}/`);
  return resources.some((other) => other.kind.namespaced && hasUnreadableWithin(other, namespace));
}

/**
 * Owners that wait for each other in a cycle are only deleted if one of them is released first. Cycles are mistakes, and
 * short; the owners of a longer one wait until one of them is deleted in the background.
 */
const cycleStepsMax = 10_000;

/**
 * Whether a foreground deletion of the owner has to wait for a direct or indirect dependent. A dependent that itself
 * waits for the owner does not block it: such a cycle would wait forever.
 */
function isBlocked(graph: Graph, node: GraphNode, owner: Owner): boolean {
  if (owner.blockerCount === 0) return false;
  // Nothing waits for this owner, so it is in no cycle. That is the usual case, and needs no look at dependents.
  if (!node.owners.some(({ owner: above, blocks }) => blocks && above.state === 'foreground')) return true;
  return !leadsIntoCycle(graph, owner) || !isWithinCycles(graph, node);
}

/**
 * Whether a dependent that blocks the owner, one that blocks that dependent, and so on lead back to one of them. Without
 * cycles they lead to an object that is deleted without waiting, usually in one step.
 */
function leadsIntoCycle(graph: Graph, owner: Owner): boolean {
  const path = new Set<Owner>();
  for (let last = owner; path.size < cycleStepsMax; ) {
    if (path.has(last)) return true;
    path.add(last);
    if (hasPlainBlocker(last)) return false;
    const blocker = last.waitingBlockers?.first;
    const next = blocker && graph.ownerOf(blocker);
    if (!next || next.blockerCount === 0) return false;
    last = next;
  }
  return false;
}

/** Whether every direct or indirect dependent that blocks the node also waits for it. */
function isWithinCycles(graph: Graph, node: GraphNode): boolean {
  let steps = 0;
  const above = new Set([node]);
  // A set also iterates over what is added to it meanwhile.
  for (const waiting of above)
    for (const { owner: waitedFor, blocks } of waiting.owners) {
      if (++steps > cycleStepsMax) return false;
      const next = blocks && waitedFor.state === 'foreground' ? graph.nodeOf(waitedFor) : undefined;
      if (next) above.add(next);
    }
  const below = new Set([node]);
  for (const member of below) {
    const owner = graph.ownerOf(member);
    if (owner && hasPlainBlocker(owner)) return false;
    for (const blocker of owner?.waitingBlockers ?? []) {
      if (++steps > cycleStepsMax || !above.has(blocker)) return false;
      below.add(blocker);
    }
  }
  return true;
}

/** A dependent that is not deleted in the foreground itself waits for nothing, so it is in no cycle. */
const hasPlainBlocker = ({ blockerCount, waitingBlockers }: Owner): boolean =>
  blockerCount > (waitingBlockers?.size ?? 0);
