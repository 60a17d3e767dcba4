import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describeOperation, type Operation } from './history.ts';

/** etcd's default, with which the members of the fault tests run. */
export const electionTimeoutMs = 1_000;
/** Whatever happens to etcd, no request may take longer. */
export const answerMs = 3.5 * electionTimeoutMs;

/** Event loop delays of this process. On a busy machine every process in the request path has such delays. */
const stalls = monitorEventLoopDelay({ resolution: 10 });
stalls.enable();
const processesInPath = 4;

export const tookMs = ({ invokedMs, returnedMs }: Operation): number => returnedMs - invokedMs;

/** The operations that took longer, apart from delays of the machine. */
export function slowerThan(limitMs: number, operations: readonly Operation[]): Operation[] {
  const toleratedMs = limitMs + (processesInPath * stalls.max) / 1e6;
  return operations.filter((one) => tookMs(one) > toleratedMs);
}

/** Describes the operations without a response in time. */
export function findHanging(operations: readonly Operation[]): string[] {
  const slow = new Set(slowerThan(answerMs, operations));
  return operations.filter((one) => slow.has(one) || one.outcome.result === 'no response').map(describeOperation);
}
