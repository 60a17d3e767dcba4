import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect } from '@jest/globals';
import { DeadlineError } from '@cluster-apiserver/testkit/repeatable-errors';
import { describeOperation, type Operation } from './history.ts';
import type { LeaderlessTime } from './leader-watch.ts';

/** etcd's default, with which the members of the fault tests run. */
export const electionTimeoutMs = 1_000;
/** Whatever happens to etcd, no request may take longer. */
export const answerMs = 3.5 * electionTimeoutMs;

/** The limit includes one election. It takes longer if votes split, or if a member gets no CPU time. */
const electionMs = 2 * electionTimeoutMs;

/** Event loop delays of this process. On a busy machine every process in the request path has such delays. */
const stalls = monitorEventLoopDelay({ resolution: 10 });
stalls.enable();
const processesInPath = 4;

export const tookMs = ({ invokedMs, returnedMs }: Operation): number => returnedMs - invokedMs;

/** What etcd itself was seen to do meanwhile. */
export interface EtcdDelays {
  readonly leaderless?: readonly LeaderlessTime[];
  /** How much longer etcd may take for the calls of one request, because its disk is slow. */
  readonly slowCallsMs?: number;
}

/** The operations that took longer, apart from delays of the machine and of etcd itself. */
export function slowerThan(
  limitMs: number,
  operations: readonly Operation[],
  { leaderless = [], slowCallsMs = 0 }: EtcdDelays = {},
): Operation[] {
  const toleratedMs = limitMs + slowCallsMs + (processesInPath * stalls.max) / 1e6;
  const longElections = leaderless.filter(({ fromMs, toMs }) => toMs - fromMs > electionMs);
  const waitedMs = ({ invokedMs, returnedMs }: Operation): number =>
    longElections
      .filter(({ fromMs, toMs }) => invokedMs < toMs && fromMs < returnedMs)
      .reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs - electionMs, 0);
  return operations.filter((one) => tookMs(one) > toleratedMs + waitedMs(one));
}

/** Requires that every request got a response, and in time. A history is judged before: a delay must not hide it. */
export function requireResponses(operations: readonly Operation[], delays: EtcdDelays = {}): void {
  expect(operations.filter(({ outcome }) => outcome.result === 'no response').map(describeOperation)).toEqual([]);
  requireInTime(slowerThan(answerMs, operations, delays));
}

/** Rejects operations that took too long. */
export function requireInTime(slow: readonly Operation[]): void {
  if (slow.length === 0) return;
  throw new DeadlineError(`${slow.length} requests took too long:\n${slow.map(describeOperation).join('\n')}`);
}
