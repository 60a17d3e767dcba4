import { unreachable } from '@cluster-apiserver/base';
import type { Resource } from '@cluster-apiserver/registry';
import { itemKey } from '@cluster-apiserver/storage';
import { hasUnreadableWithin } from '../memory.ts';
import type { Graph, GraphNode, Owner } from './graph.ts';
import { isTerminating } from './owner-state.ts';

/** The next action for a node: evaluate its owners, or release its own finalizer. */
export type NextAction = 'evaluate owners' | 'release finalizer';

export interface NextActionReader {
  nextAction(node: GraphNode): NextAction | undefined;
  /** Whether nothing holds a deletion any more that waits for dependents. */
  mayRelease(node: GraphNode): boolean;
}

export function nextActionReader(graph: Graph, resources: readonly Resource[]): NextActionReader {
  const mayRelease = (node: GraphNode): boolean =>
    node.waiting !== undefined && !isAwaited(graph, node) && !hasUnreadableBeside(resources, node);
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
const circleStepsMax = 10_000;

/**
 * Whether a foreground deletion of the owner has to wait for a direct or indirect dependent. A dependent that itself
 * waits for the owner does not block it: such a cycle would wait forever.
 */
function isBlocked(graph: Graph, node: GraphNode, owner: Owner): boolean {
  if (owner.blockerCount === 0) return false;
  // Nothing waits for this owner, so it is in no cycle. That is the usual case, and needs no look at dependents.
  if (!node.owners.some(({ owner: above, blocks }) => blocks && above.state === 'foreground')) return true;
  let steps = 0;
  const above = new Set([node]);
  // A set also iterates over what is added to it meanwhile.
  for (const waiting of above)
    for (const { owner: waitedFor, blocks } of waiting.owners) {
      if (++steps > circleStepsMax) return true;
      const next = blocks && waitedFor.state === 'foreground' ? graph.nodeOf(waitedFor) : undefined;
      if (next) above.add(next);
    }
  const below = new Set([node]);
  for (const member of below) {
    const memberAsOwner = graph.ownerOf(member);
    for (const dependent of memberAsOwner?.dependents ?? []) {
      if (++steps > circleStepsMax) return true;
      if (below.has(dependent) || !isBlockedBy(memberAsOwner, dependent)) continue;
      if (!above.has(dependent)) return true;
      below.add(dependent);
    }
  }
  return false;
}

const isBlockedBy = (owner: Owner | undefined, dependent: GraphNode): boolean =>
  dependent.owners.some((edge) => edge.blocks && edge.owner === owner);
