/**
 * What becomes of those that an object leaves behind when it goes: dependents, which name it in ownerReferences. They
 * follow it or forget it, as the one who deleted it said.
 *
 * Feeds keep a graph of who depends on whom. After a change the graph tells which of the members around it need care,
 * and a queue sees to it. The graph may be behind at any time, so it only says where to look: that an owner is gone is
 * read from the storage, and every write names the object and the state that it is meant for. Two collectors at a time,
 * or one that is cut off half-way, therefore do no harm.
 */
import { callUntil, type Clock, type Random } from '@cluster-apiserver/base';
import type { Resource } from '@cluster-apiserver/registry';
import type { Call } from '@cluster-apiserver/storage';
import { careFor } from './care.ts';
import { type Act, carer } from './carer.ts';
import { follow } from '../feed.ts';
import { createGraph } from './graph.ts';
import { looker } from './look.ts';
import { type Member, memberReader } from './member.ts';
import { retryQueue } from '../retry-queue.ts';
import { standingReader } from './standing.ts';

export interface GarbageCollectorOptions {
  readonly resources: readonly Resource[];
  readonly clock: Clock;
  readonly random: Random;
  /** For as long as this replica leads. */
  readonly signal: AbortSignal;
  readonly report: (event: GarbageCollectorEvent) => void;
}

export type GarbageCollectorEvent =
  | Act
  /** Everything is known: at the start, and again after changes of a kind were missed. */
  | { readonly type: 'synced'; readonly members: number }
  /** Tried again after a pause. A conflict with another writer is ordinary. */
  | { readonly type: 'failed'; readonly key: string; readonly tries: number; readonly cause: unknown }
  /** The feed of a kind broke off, and begins again from a list. */
  | { readonly type: 'feed lost'; readonly kind: string; readonly cause: unknown };

/** Enough to keep the storage busy, few enough to leave it to the clients. */
const workers = 8;

/** The first pause lets a feed catch up after a conflict; the longest is what a fault costs after it is repaired. */
const pauses = { firstMs: 50, maxMs: 30_000 };

/** Less than an election leaves between the end of a term and the begin of the next one. */
const callTimeoutMs = 2_000;

/** Collects until the signal aborts, and ends when nothing is under way any more. */
export async function collectGarbage(options: GarbageCollectorOptions): Promise<void> {
  const { resources, clock, random, signal, report } = options;
  if (signal.aborted) return;
  const call = (): Call => {
    signal.throwIfAborted();
    return callUntil(clock.monotonicMs() + callTimeoutMs);
  };
  const graph = createGraph();
  const reader = memberReader(resources);
  const look = looker(resources, reader, call);
  const care = carer({ graph, look, standingOf: standingReader(graph, call), call, report });
  const queue = retryQueue({
    clock,
    random,
    workers,
    pauses,
    work: (key) => care(graph.at(key)),
    failed: (key, { tries, cause }) => report({ type: 'failed', key, tries, cause }),
  });
  const stopped = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(queue.close()), { once: true });
  });

  /** Until all is known, an owner that nobody has told of yet would look like one that is gone. */
  const untold = new Set(resources);
  const consider = (members: Iterable<Member>): void => {
    if (untold.size > 0) return;
    for (const member of members) if (careFor(graph, member)) queue.add(member.key);
  };
  const gone = (member: Member): void => {
    consider(graph.dependentsOf(member));
    consider(graph.ownersOf(member));
  };
  const present = (now: Member): void => {
    const before = graph.put(now);
    if (before) consider(graph.ownersOf(before));
    if (before && before.uid !== now.uid) consider(graph.dependentsOf(before));
    if (now.leaving !== before?.leaving) consider(graph.dependentsOf(now));
    consider([now]);
  };
  const followed = resources.map((resource) =>
    follow(
      resource,
      {
        present: (stored) => {
          const member = reader.read(resource, stored);
          if (member) present(member);
          else removed(stored.key);
        },
        gone: removed,
        complete: (keys) => {
          for (const { key, resource: of } of [...graph.members()]) if (of === resource && !keys.has(key)) removed(key);
          untold.delete(resource);
          if (untold.size > 0) return;
          report({ type: 'synced', members: graph.size });
          consider(graph.members());
        },
        lost: (cause) => report({ type: 'feed lost', kind: resource.kind.kind, cause }),
      },
      { clock, random, signal, call },
    ),
  );
  await Promise.all([stopped, ...followed]);

  function removed(key: string): void {
    const member = graph.remove(key);
    if (member) gone(member);
  }
}
