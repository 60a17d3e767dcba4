import { type Random, seededRandom } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { memberAt } from '@cluster-apiserver/testkit/etcd-gateway';
import { checkHistory } from '../fault/check-history.ts';
import { withoutTwins } from '../fault/twins.ts';
import type { Client } from '@cluster-apiserver/testkit/api-client';
import { type DecryptedChange, decryptChanges, isOfLoad, nameOf, parseEntries } from '../fault/etcd-log.ts';
import type { Compaction, Operation } from '../fault/history.ts';
import { type JudgedResource, registry, serviceAccounts } from '../fault/judged-resources.ts';
import { mixedLoad } from '../fault/mixed-load.ts';
import { checkStreams, hasReceivedAll } from './check-streams.ts';
import { type Compactor, startCompactor } from './compactor.ts';
import { type Recorder, startRecorder } from './recorder.ts';
import type { ApiObject } from './view.ts';
import { type LogEntry, selectVisibleEvents } from './visible-events.ts';
import type { Watcher } from './watcher.ts';

/** Requests and watches, judged by etcd's own history afterwards. Nobody else may write objects of its resources meanwhile. */
export interface JudgedLoad {
  readonly history: readonly Operation[];
  readonly recorder: Recorder;
  readonly watchers: readonly Watcher[];
  /** Undefined if nothing is compacted. */
  readonly compactor: Compactor | undefined;
  readonly deliveredEvents: number;
  /** Waits for so many more responses. */
  waitForResponses(count: number): Promise<void>;
  /** The same for responses to requests that were not refused. */
  waitForSuccesses(count: number): Promise<void>;
  /**
   * Ends the requests; the watchers then have time to receive the last events. A watcher whose replica had lost its history
   * may have got 410 as if etcd had been compacted further.
   */
  judge(lostBy?: (watcher: string) => readonly Compaction[]): Promise<Verdict>;
  /** Ends everything without a verdict, after a failure. */
  stop(): Promise<void>;
}

export interface Verdict {
  readonly violations: readonly string[];
  /** Watchers that have not received everything. */
  readonly late: readonly string[];
  /** The number of writes. */
  readonly writes: number;
}

interface Options {
  readonly etcdEndpoints: readonly string[];
  readonly encryption: Buffer;
  /** Of the requests. */
  readonly clients: readonly Client[];
  readonly watchers: (random: Random, recorder: Recorder) => readonly Watcher[];
  readonly seed: number;
  readonly resources?: readonly JudgedResource[];
  readonly compactionIntervalMs?: number;
}

/** Every write is delivered to many watchers: a few per second keep a small machine busy. */
const thinkMs = 20;
/** Much longer than an election or the start of a member or a replica on a busy machine. */
const recoveryMs = 60_000;

export async function startJudgedLoad({
  etcdEndpoints,
  encryption,
  clients,
  watchers: startWatchers,
  seed,
  resources = [serviceAccounts],
  compactionIntervalMs,
}: Options): Promise<JudgedLoad> {
  const recorder = startRecorder(etcdEndpoints, registry, isOfLoad);
  const random = seededRandom(seed);
  const load = mixedLoad(clients, random, { thinkMs, resources });
  await until('a recorded write', () => recorder.revision > 0 || undefined, recoveryMs);
  const compactor =
    compactionIntervalMs === undefined ? undefined : startCompactor(etcdEndpoints, recorder, compactionIntervalMs);
  const watchers = startWatchers(random, recorder);
  const waitFor = async (what: string, isOne: (operation: Operation) => boolean, count: number): Promise<void> => {
    const from = load.history.length;
    const enough = (): boolean => load.history.slice(from).filter(isOne).length >= count;
    await until(`${count} more ${what}`, () => enough() || undefined, recoveryMs);
  };
  const stop = async (): Promise<void> => {
    // All at once: a watch that begins while others end would be cut before its initial state has come.
    await Promise.all([load.stop(), compactor?.stop(), ...watchers.map((watcher) => watcher.stop())]);
    await recorder.stop();
  };
  return {
    history: load.history,
    recorder,
    watchers,
    compactor,
    get deliveredEvents() {
      return watchers.reduce((sum, { deliveredEvents }) => sum + deliveredEvents, 0);
    },
    waitForResponses: (count) => waitFor('responses', () => true, count),
    waitForSuccesses: (count) =>
      waitFor('successes', ({ outcome }) => ['written', 'deleted', 'found', 'listed'].includes(outcome.result), count),
    stop,
    judge: async (lostBy = () => nothing) => {
      await load.stop();
      const lastWritten = Math.max(
        ...load.history.map(({ outcome }) => (outcome.result === 'written' ? outcome.revision : 0)),
      );
      await until('the record of the last write', () => recorder.revision >= lastWritten || undefined, recoveryMs);
      const late = await waitForWatchers(watchers, logOf(await decryptChanges(recorder.changes, { encryption })));
      await stop();
      const changes = await decryptChanges(recorder.changes, { encryption });
      const log = logOf(changes);
      // Leader elections and leases also advance the revision.
      const members = await Promise.all(etcdEndpoints.map(memberAt));
      const headRevision = Math.max(...members.map((member) => member?.revision ?? 0));
      const compactions = compactor?.requests ?? [];
      const streams = watchers.map(({ stream }) => stream);
      const byLoss = Map.groupBy(streams, ({ watcher }) => lostBy(watcher));
      return {
        violations: [
          ...[...byLoss].flatMap(([lost, group]) =>
            checkStreams(group, { log, headRevision, compactions: [...compactions, ...lost] }),
          ),
          ...checkHistory(withoutTwins(load.history), parseEntries(changes), [
            ...compactions,
            ...[...byLoss.keys()].flat(),
          ]),
        ],
        late,
        writes: log.length,
      };
    },
  };
}

const nothing: readonly Compaction[] = [];

/** Waits until all watchers have received everything; returns those that have not. */
async function waitForWatchers(watchers: readonly Watcher[], log: readonly LogEntry[]): Promise<string[]> {
  const due = new Map(
    [...new Set(watchers.map(({ stream }) => stream.view))].map((view) => [view, selectVisibleEvents(log, view)]),
  );
  const truth = { log, headRevision: Number.POSITIVE_INFINITY, compactions: [] };
  const isLate = ({ stream, revision }: Watcher): boolean => {
    const visible = due.get(stream.view);
    const current = stream.segments.at(-1);
    if (!visible) return false;
    // Another watch begins with a state, which has to come, too, and does not say its revision: that may be of a deletion.
    const isResumed = current?.opening.from === 'a revision';
    if (isResumed && revision >= (visible.events.at(-1)?.revision ?? 0)) return false;
    return !current || !hasReceivedAll(current, visible, truth);
  };
  const late = (): Watcher[] => watchers.filter(isLate);
  // The checker reports missing events better than a timeout would.
  await until('the last events', () => late().length === 0 || undefined, recoveryMs).catch(() => {});
  return late().map(({ stream }) => stream.watcher);
}

const logOf = (changes: readonly DecryptedChange[]): LogEntry[] =>
  changes.map(({ revision, key, value }) => ({
    revision,
    key: nameOf(key),
    object: value === undefined ? undefined : (JSON.parse(value) as ApiObject), // the stored encoding equals the served one
  }));
