import type { ProcessState } from '../../test/hostile/server-process.ts';
import type { ProcessorUse } from './processor-use.ts';

/** The measurements of one attack and the goals that a server must meet. */
export interface PoliteReport {
  readonly answered: number;
  readonly errors: Readonly<Record<string, number>>;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** The longest delay of the client itself: the noise of the machine. */
  readonly ownDelayMs: number;
}

/** CPU time during an attack, in shares of a core. */
export interface UseOfAttack {
  readonly server: ProcessorUse;
  readonly store: ProcessorUse;
  readonly attacker: ProcessorUse;
}

export interface SlowGets {
  readonly over50Ms: number;
  readonly over100Ms: number;
}

export interface AttackReport {
  readonly name: string;
  readonly reason: string;
  readonly polite: PoliteReport;
  readonly before: ProcessState;
  readonly peakMiB: number;
  /** State after the server came to rest; undefined if its process ended. */
  readonly after: ProcessState | undefined;
  /** The longest delay of the server's event loop; undefined if the server did not report it. */
  readonly turnMs: number | undefined;
  /** The most CPU time of one event-loop iteration, with V8's collections in it; undefined if the server did not respond. */
  readonly turnProcessorMs: number | undefined;
  /** Gets that took longer than the goals inside the server, from its histogram. The attack's gets count, too. */
  readonly slowGets: SlowGets | undefined;
  readonly use: UseOfAttack;
  /** The same client at stand-ins that use as much CPU time; undefined if it was not measured. */
  readonly control: PoliteReport | undefined;
  /** The attacker's counts by outcome; undefined if its process failed. */
  readonly attacker: Readonly<Record<string, number>> | undefined;
  /** Error lines of the server's log. */
  readonly logged: readonly string[];
}

const goals = {
  maxMs: 100,
  p99Ms: 50,
  /** Of CPU time: how long other processes of the machine interrupt an iteration says nothing about the server. */
  turnMs: 20,
  growthMiB: 100,
  /** Memory that may remain: the heap keeps part of its growth for reuse. */
  remainingMiB: 50,
  /** Sockets of disconnected clients; a few belong to the benchmark's own clients. */
  remainingDescriptors: 20,
} as const;

export const isRestored = (before: ProcessState, after: ProcessState): boolean =>
  after.residentMiB - before.residentMiB <= goals.remainingMiB &&
  after.descriptors - before.descriptors <= goals.remainingDescriptors;

/** Describes each missed goal; empty if the server met all of them. */
export function missedGoals(report: AttackReport): string[] {
  const { polite, turnProcessorMs = 0, before, peakMiB, after, logged, attacker } = report;
  const errors = Object.entries(polite.errors).map(([what, times]) => `${times} x ${what}`);
  return [
    ...(after ? [] : ['process ended']),
    ...(attacker ? [] : ['attacker failed']),
    ...(errors.length > 0 ? [`polite errors: ${errors.join(', ')}`] : []),
    ...(polite.answered === 0 ? ['nothing answered'] : []),
    ...(polite.maxMs > goals.maxMs ? [`max ${polite.maxMs.toFixed(0)} ms`] : []),
    ...(polite.p99Ms > goals.p99Ms ? [`p99 ${polite.p99Ms.toFixed(0)} ms`] : []),
    ...(turnProcessorMs > goals.turnMs ? [`an iteration of ${turnProcessorMs.toFixed(0)} ms`] : []),
    ...(peakMiB - before.residentMiB > goals.growthMiB ? [`+${(peakMiB - before.residentMiB).toFixed(0)} MiB`] : []),
    ...(after && after.residentMiB - before.residentMiB > goals.remainingMiB
      ? [`+${(after.residentMiB - before.residentMiB).toFixed(0)} MiB kept`]
      : []),
    ...(after && after.descriptors - before.descriptors > goals.remainingDescriptors
      ? [`${after.descriptors - before.descriptors} descriptors kept`]
      : []),
    ...(logged.length > 0 ? [`${logged.length} errors logged`] : []),
  ];
}

export const tableHead = [
  '| attack | polite answers | errors | p50 ms | p99 ms | max ms | own delay ms | control p99, max ms | server over 50, 100 ms | iteration: delay, CPU ms | core shares: server, its other threads, its waits, store, attacker | RSS before, peak, after MiB | fds before, after | attacker | goal |',
  '|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|',
].join('\n');

export function tableRow(report: AttackReport): string {
  const { name, polite, before, peakMiB, after, slowGets, use, control, attacker = {} } = report;
  const missed = missedGoals(report);
  const cells = [
    name,
    polite.answered,
    Object.values(polite.errors).reduce((sum, times) => sum + times, 0),
    polite.p50Ms.toFixed(1),
    polite.p99Ms.toFixed(1),
    polite.maxMs.toFixed(0),
    polite.ownDelayMs.toFixed(1),
    control ? `${control.p99Ms.toFixed(1)}, ${control.maxMs.toFixed(0)}` : '-',
    slowGets ? `${slowGets.over50Ms}, ${slowGets.over100Ms}` : '-',
    [report.turnMs, report.turnProcessorMs].map((ms) => ms?.toFixed(0) ?? '-').join(', '),
    [use.server.main, use.server.otherThreads, use.server.waiting, total(use.store), total(use.attacker)]
      .map((share) => share.toFixed(2))
      .join(', '),
    [before.residentMiB, peakMiB, after?.residentMiB].map((mib) => mib?.toFixed(0) ?? '-').join(', '),
    [before.descriptors, after?.descriptors ?? '-'].join(', '),
    Object.entries(attacker)
      .map(([outcome, times]) => `${outcome}: ${times}`)
      .join(', '),
    missed.length === 0 ? 'OK' : `MISSED: ${missed.join('; ')}`,
  ];
  return `| ${cells.join(' | ')} |`;
}

const total = ({ main, otherThreads }: ProcessorUse): number => main + otherThreads;
