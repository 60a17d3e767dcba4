import { nearestName, type CleanupStack } from '@cluster-apiserver/base';
import { type LiveApi, mapApi } from '@cluster-apiserver/registry';
import { Election, type EtcdClient, startCompaction } from '@cluster-apiserver/storage';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import type { Environment } from '../environment.ts';
import { controllers } from './controller-list.ts';
import { createControllerMeasures, publishLeadership } from './controller-measures.ts';
import { runWithRestarts } from './run-with-restarts.ts';
import { requireLeadership } from './require-leadership.ts';

export interface ControllerDependencies {
  readonly flags: ServerFlags;
  readonly environment: Environment;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly client: EtcdClient;
  readonly api: LiveApi;
  readonly ownPrefix: string;
}

const controllerNames = Object.keys(controllers);

/**
 * Takes part in leader election, and runs the controllers while this replica is the leader. Returns a function that gives
 * up leadership for good.
 */
export function startControllers(
  { flags, environment, log, metrics, client, api, ownPrefix }: ControllerDependencies,
  cleanup: CleanupStack,
): () => void {
  const { clock, random } = environment;
  const chosen = parseControllers(flags.controllers);
  const measuresOf = createControllerMeasures(metrics, controllerNames, clock);
  const entries = Object.entries(controllers).filter(([name]) => chosen.has(name));
  const controllersLog = log.withName('controllers');
  const lead = async (signal: AbortSignal): Promise<void> => {
    controllersLog.info('acquired leadership; starting controllers', { controllers: [...chosen].join(',') });
    const own = mapApi(api, (one) => ({ ...one, store: requireLeadership(one.store, () => election.isLeading) }));
    const run = ([name, runTerm]: (typeof entries)[number]): Promise<void> => {
      const term = { api: own, clock, random, signal, measures: measuresOf(name) };
      return runWithRestarts({
        clock,
        random,
        signal,
        work: () => runTerm(term, log.withName(name)),
        failed: (error) =>
          controllersLog.error('controller failed; restarting it after a pause', {
            controller: name,
            error: asError(error),
          }),
      });
    };
    await Promise.all(entries.map(run));
    controllersLog.info('stopped controllers', { reason: String(signal.reason) });
  };
  const election = new Election({
    client,
    key: `${ownPrefix}election/leader`,
    identity: random.uuid(),
    lead,
    report: ({ key, value }) =>
      controllersLog.error('removed a leader election key without a lease, which blocked elections', { key, value }),
  });
  publishLeadership(metrics, election);
  cleanup.defer('controllers', () => election.close());
  const resign = (): void => void election.close();
  const compaction = openCompaction({ flags, client, log }, election);
  if (compaction) cleanup.defer('compaction', () => compaction.close());
  return resign;
}

function openCompaction(
  { flags, client, log }: Pick<ControllerDependencies, 'flags' | 'client' | 'log'>,
  election: Election,
): ReturnType<typeof startCompaction> | undefined {
  const intervalMs = flags['etcd-compaction-interval'];
  if (intervalMs === 0) return undefined;
  const compactionLog = log.withName('compaction');
  return startCompaction({
    client,
    election,
    intervalMs,
    report: (event) => {
      if (event.type === 'compacted')
        compactionLog.debug(2, 'compacted the history of etcd', { revision: event.revision });
      else
        compactionLog.warn('compacting the history of etcd failed; retrying after the interval', {
          error: asError(event.cause),
        });
    },
  });
}

/** `*` enables all, `name` one, `-name` disables one; the last word about a controller wins. */
export function parseControllers(words: readonly string[]): ReadonlySet<string> {
  const faults = words
    .map((word) => word.replace(/^-/, ''))
    .filter((name) => name !== '*' && !controllerNames.includes(name))
    .map(
      (name) =>
        `--controllers: there is no ${JSON.stringify(name)}${nearestName(name, controllerNames) ? `; did you mean ${nearestName(name, controllerNames)}?` : `; there is ${controllerNames.join(', ')}`}`,
    );
  if (faults.length > 0) throw new FlagError(faults);
  const onlyExceptions = words.length > 0 && words.every((word) => word.startsWith('-'));
  const chosen = new Set(onlyExceptions ? controllerNames : []);
  for (const word of words) {
    if (word === '*') for (const name of controllerNames) chosen.add(name);
    else if (word.startsWith('-')) chosen.delete(word.slice(1));
    else chosen.add(word);
  }
  return chosen;
}
