import { unreachable } from '@cluster-apiserver/base';
import type { Graph } from './graph.ts';
import type { Member } from './member.ts';

/** What a member needs: its owners looked at, because it may have to go or to forget them, or to be let go itself. */
export type Care = 'judge' | 'let go';

export function careFor(graph: Graph, member: Member): Care | undefined {
  const owners = member.owners.map((owner) => graph.get(owner));
  // An owner that leaves its dependents behind waits for each of them, even for those that are going anyway.
  if (owners.some((owner) => owner?.leaving === 'orphan')) return 'judge';
  if (member.leaving !== undefined) return mayGo(graph, member) ? 'let go' : undefined;
  return owners.some((owner) => !owner || owner.leaving === 'foreground') ? 'judge' : undefined;
}

/** Whether nothing holds a deletion any more that has to do with dependents. */
export function mayGo(graph: Graph, member: Member): boolean {
  switch (member.leaving) {
    case 'foreground':
      return !isHeld(graph, member);
    case 'orphan':
      return graph.dependentsOf(member).next().done === true;
    case 'held by others':
    case undefined:
      return false;
    default:
      return unreachable(member.leaving);
  }
}

/**
 * Whether an owner that leaves in the foreground has to wait for a dependent, its own or one further down. Those that
 * wait for each other in a circle would wait for ever; so what waits for the owner does not hold it.
 */
function isHeld(graph: Graph, owner: Member): boolean {
  const waiting = waitingFor(graph, owner);
  const below = new Set([owner]);
  // A set also gives what is added to it while it is walked through.
  for (const member of below) {
    for (const dependent of graph.dependentsOf(member)) {
      if (below.has(dependent) || !blocks(dependent, member)) continue;
      if (!waiting.has(dependent)) return true;
      below.add(dependent);
    }
  }
  return false;
}

/** All that leave in the foreground and wait for this member, or for others that wait for it. */
function waitingFor(graph: Graph, member: Member): ReadonlySet<Member> {
  const above = new Set([member]);
  for (const dependent of above) {
    for (const owner of dependent.owners) {
      const waiting = owner.blocks ? graph.get(owner) : undefined;
      if (waiting?.leaving === 'foreground') above.add(waiting);
    }
  }
  return above;
}

const blocks = (dependent: Member, owner: Member): boolean =>
  dependent.owners.some(({ key, uid, blocks }) => blocks && key === owner.key && uid === owner.uid);
