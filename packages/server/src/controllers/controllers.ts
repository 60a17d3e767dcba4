import { controllers, type ControllerServices, createControllerMeasures } from '@cluster-apiserver/controllers';
import { asError, type CleanupStack } from '@cluster-apiserver/base';
import { isStorageUnavailable, type LiveApi, mapApi } from '@cluster-apiserver/registry';
import { Election, type EtcdClient, startCompaction } from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import type { ControllerSettings } from './controller-settings.ts';
import { retryUntilDone } from '../retry-until-done.ts';
import { requireLeadership } from './require-leadership.ts';

export interface ControllerDependencies {
  /** Of all etcds; the first one has the key of the leader. */
  readonly clients: readonly [EtcdClient, ...EtcdClient[]];
  readonly api: LiveApi;
  /** Prefix of the keys of the servers themselves. */
  readonly ownPrefix: string;
  /** Between compactions of etcd's history by the leader; 0 for none. */
  readonly compactionIntervalMs: number;
  readonly services: ControllerServices;
}

/** Between restarts of a controller that has failed. */
const pauses = { firstMs: 1_000, maxMs: 60_000 };

/**
 * Takes part in leader election, and runs the controllers while this replica is the leader. Returns a function that gives
 * up leadership for good.
 */
export function startControllers(
  { chosen }: ControllerSettings,
  { clients, api, ownPrefix, compactionIntervalMs, services }: ControllerDependencies,
  { environment, log, metrics }: ServerContext,
  cleanup: CleanupStack,
): () => void {
  const { clock, random } = environment;
  const measuresOf = createControllerMeasures(metrics, Object.keys(controllers), clock);
  const entries = Object.entries(controllers).filter(([name]) => chosen.has(name));
  const controllersLog = log.withName('controllers');
  const lead = async (signal: AbortSignal): Promise<void> => {
    controllersLog.info('acquired leadership; starting controllers', { controllers: [...chosen].join(',') });
    const own = mapApi(api, (one) => ({ ...one, store: requireLeadership(one.store, () => election.isLeading) }));
    const run = ([name, runTerm]: (typeof entries)[number]): Promise<void> => {
      const term = {
        ...services,
        api: own,
        clock,
        random,
        signal,
        log: log.withName(name),
        measures: measuresOf(name),
      };
      return retryUntilDone({
        pauses,
        clock,
        random,
        signal,
        work: () => runTerm(term),
        failed: (error) =>
          controllersLog.error(
            // Meaning: A controller of the leader ended with an error that no code expected. What it does waits until
            // it is restarted.
            'controller failed; restarting it after a pause',
            'report the error as a bug if it repeats; the other controllers go on',
            {
              controller: name,
              error: asError(error),
            },
          ),
      });
    };
    await Promise.all(entries.map(run));
    controllersLog.info('stopped controllers', { reason: String(signal.reason) });
  };
  const election = new Election({
    client: clients[0],
    key: `${ownPrefix}election/leader`,
    identity: random.uuid(),
    lead,
    report: ({ key, value }) =>
      controllersLog.error(
        // Meaning: No replica could become leader, because a foreign key took the place of one. Elections go on.
        'removed a leader election key without a lease, which blocked elections',
        'find out which program writes below --etcd-prefix: only API servers may',
        { key, value },
      ),
  });
  metrics.readAtScrape(
    'gauge',
    {
      name: 'leader_election_master_status',
      help: '1 if this replica is the leader, else 0. Exactly one replica should be the leader.',
      labels: ['name'],
    },
    () => [{ labels: { name: 'controllers' }, value: election.isLeading ? 1 : 0 }],
  );
  cleanup.defer('controllers', () => election.close());
  const resign = (): void => void election.close();
  for (const client of clients) {
    const compaction = openCompaction(compactionIntervalMs, client, election, log);
    if (compaction) cleanup.defer('compaction', () => compaction.close());
  }
  return resign;
}

function openCompaction(
  intervalMs: number,
  client: EtcdClient,
  election: Election,
  log: Log,
): ReturnType<typeof startCompaction> | undefined {
  if (intervalMs === 0) return undefined;
  const compactionLog = log.withName('compaction');
  return startCompaction({
    client,
    election,
    intervalMs,
    report: (event) => {
      if (event.type === 'compacted')
        compactionLog.debug(2, 'compacted the history of etcd', { revision: event.revision });
      // An outage has a line of its own.
      else if (!isStorageUnavailable(event.cause))
        compactionLog.warn(
          // Meaning: Old revisions stay in etcd, and its file grows until the next attempt.
          'compacting the history of etcd failed; retrying after the interval',
          'check the health of etcd, and the rights of its user: docs/operate.md',
          {
            error: asError(event.cause),
          },
        );
    },
  });
}
