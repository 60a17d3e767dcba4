import { foregroundFinalizer, orphanFinalizer } from '@cluster-apiserver/model';
import type { Call } from '@cluster-apiserver/storage';
import { careFor, mayGo } from './care.ts';
import type { Graph } from './graph.ts';
import type { Look } from './look.ts';
import type { Member } from './member.ts';
import type { StandingReader } from './standing.ts';
import { verdictOn } from './verdict.ts';
import { deleteMember, detach, release } from './writes.ts';

/** Something that was done to an object. */
export interface Act {
  readonly type: 'deleted' | 'detached' | 'released';
  readonly kind: string;
  readonly namespace: string | undefined;
  readonly name: string;
}

export interface CarerOptions {
  readonly graph: Graph;
  readonly look: Look;
  readonly standingOf: StandingReader;
  readonly call: () => Call;
  readonly report: (act: Act) => void;
}

/** Gives a member the care that it needs now; by the time its turn comes that may be none. */
export function carer({
  graph,
  look,
  standingOf,
  call,
  report,
}: CarerOptions): (member: Member | undefined) => Promise<void> {
  const judge = async (member: Member): Promise<void> => {
    const owners = await Promise.all(
      member.owners.map(async (owner) => ({ owner, standing: await standingOf(owner, member.namespace) })),
    );
    const verdict = verdictOn(member, owners, !graph.dependentsOf(member).next().done);
    if (!verdict) return;
    if (verdict.type === 'delete') await deleteMember(member, verdict.propagationPolicy, call());
    else await detach(member, verdict.ownerUids, call());
    done(verdict.type === 'delete' ? 'deleted' : 'detached', member);
  };
  const letGo = async (member: Member): Promise<void> => {
    const really = await look(member.namespace);
    const now = really.get(member);
    // When it is held after all, the graph is behind, and what it has yet to be told brings the member up again.
    if (!now || !mayGo(really, now)) return;
    await release(now, now.leaving === 'orphan' ? orphanFinalizer : foregroundFinalizer, call());
    done('released', now);
  };
  const done = (type: Act['type'], { resource, namespace, name }: Member): void =>
    report({ type, kind: resource.kind.kind, namespace, name });

  return async (member) => {
    if (!member) return;
    const care = careFor(graph, member);
    if (care === 'judge') await judge(member);
    else if (care === 'let go') await letGo(member);
  };
}
