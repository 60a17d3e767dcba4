import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describeOperation, type Operation } from './history.ts';
import type { LeaderlessTime } from './leader-watch.ts';

/** etcd's default, with which the members of the fault tests run. */
export const electionTimeoutMs = 1_000;
/** Whatever happens to etcd, no request may take longer. */
export const answerMs = 3.5 * electionTimeoutMs;

/** The limit includes one election. It takes longer if votes split, or if a member gets no processor time. */
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

/** Describes the operations without a response in time. */
export function findHanging(operations: readonly Operation[], delays: EtcdDelays = {}): string[] {
  const slow = new Set(slowerThan(answerMs, operations, delays));
  return operations.filter((one) => slow.has(one) || one.outcome.result === 'no response').map(describeOperation);
}
