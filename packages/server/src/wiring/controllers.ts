import { nearestName, type Scope } from '@cluster-apiserver/base';
import {
  collectGarbage,
  emptyNamespaces,
  type GarbageCollectorEvent,
  type NamespaceControllerEvent,
} from '@cluster-apiserver/controllers';
import type { Resource } from '@cluster-apiserver/registry';
import {
  campaign,
  type EtcdClient,
  startCompaction,
  StorageUnavailableError,
  type Store,
} from '@cluster-apiserver/storage';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags.ts';
import type { Surroundings } from '../surroundings.ts';

export interface ControllerWiring {
  readonly flags: ServerFlags;
  readonly surroundings: Surroundings;
  readonly log: Log;
  readonly client: EtcdClient;
  readonly resources: readonly Resource[];
  readonly ownPrefix: string;
}

const garbageCollector = 'garbage-collector';
const namespaceController = 'namespace-controller';
const controllers = [garbageCollector, namespaceController];

/** What one replica at a time does for all of them. */
export function startControllers(
  { flags, surroundings, log, client, resources, ownPrefix }: ControllerWiring,
  scope: Scope,
): void {
  const { clock, random } = surroundings;
  const chosen = chosenControllers(flags.controllers);
  const lead = async (term: AbortSignal): Promise<void> => {
    log.info('acquired leadership; starting controllers', { controllers: [...chosen].join(',') });
    const own = resources.map((one) => ({ ...one, store: whileLeading(one.store, () => election.leading) }));
    const options = { resources: own, clock, random, signal: term };
    const run = async (name: string, work: () => Promise<void>): Promise<void> => {
      if (!chosen.has(name)) return;
      await work().catch((error: unknown) =>
        log.error('a controller stopped', { controller: name, error: asError(error) }),
      );
    };
    await Promise.all([
      run(garbageCollector, () => collectGarbage({ ...options, report: collectorReport(log) })),
      run(namespaceController, () => emptyNamespaces({ ...options, report: namespaceReport(log) })),
    ]);
    log.info('stopped controllers', { reason: String(term.reason) });
  };
  const election = campaign({
    client,
    key: `${ownPrefix}election/leader`,
    identity: random.uuid(),
    lead,
    report: ({ key, value }) =>
      log.error('removed a leader election key without a lease; nobody could have led', { key, value }),
  });
  scope.onClose('controllers', () => election.close());
  const intervalMs = flags['etcd-compaction-interval'];
  if (intervalMs === 0) return;
  const compaction = startCompaction({
    client,
    election,
    intervalMs,
    report: (event) => {
      if (event.type === 'compacted') log.debug(2, 'compacted the history of etcd', { revision: event.revision });
      else
        log.warn('compacting the history of etcd failed; the next interval tries again', {
          error: asError(event.cause),
        });
    },
  });
  scope.onClose('compaction', () => compaction.close());
}

/**
 * A process that stood still learns of it by timers, and what came in the meantime may be dealt with before them. So each
 * write asks once more.
 */
function whileLeading(store: Store, leading: () => boolean): Store {
  const requireLead = (): void => {
    if (!leading()) throw new StorageUnavailableError('leadership was lost');
  };
  return {
    get: store.get,
    list: store.list,
    watch: store.watch,
    head: store.head,
    askForProgress: store.askForProgress,
    reopenWatches: store.reopenWatches,
    onHistoryReplaced: store.onHistoryReplaced,
    get history() {
      return store.history;
    },
    create: async (...write) => (requireLead(), store.create(...write)),
    update: async (...write) => (requireLead(), store.update(...write)),
    delete: async (...write) => (requireLead(), store.delete(...write)),
  };
}

/** `*` is all, a name is one, `-name` is all but one; the last word about a controller counts. */
function chosenControllers(words: readonly string[]): ReadonlySet<string> {
  const faults = words
    .map((word) => word.replace(/^-/, ''))
    .filter((name) => name !== '*' && !controllers.includes(name))
    .map(
      (name) =>
        `--controllers: there is no ${JSON.stringify(name)}${nearestName(name, controllers) ? `; did you mean ${nearestName(name, controllers)}?` : `; there is ${controllers.join(', ')}`}`,
    );
  if (faults.length > 0) throw new FlagError(faults);
  const onlyExceptions = words.length > 0 && words.every((word) => word.startsWith('-'));
  const chosen = new Set(onlyExceptions ? controllers : []);
  for (const word of words) {
    if (word === '*') for (const name of controllers) chosen.add(name);
    else if (word.startsWith('-')) chosen.delete(word.slice(1));
    else chosen.add(word);
  }
  return chosen;
}

/** A first failure is nearly always another writer who came first; one that goes on is something to look at. */
const ordinaryTries = 3;

const collectorReport =
  (log: Log) =>
  (event: GarbageCollectorEvent): void => {
    if (event.type === 'failed') {
      if (event.tries > ordinaryTries)
        log.warn('the garbage collector cannot settle an object and tries again', {
          key: event.key,
          tries: event.tries,
          error: asError(event.cause),
        });
    } else if (event.type === 'feed lost')
      log.debug(2, 'the garbage collector lists a kind again', { kind: event.kind, error: asError(event.cause) });
    else if (event.type === 'synced')
      log.debug(2, 'the garbage collector knows who depends on whom', { members: event.members });
    else log.debug(2, 'the garbage collector acted', { ...event });
  };

const namespaceReport =
  (log: Log) =>
  (event: NamespaceControllerEvent): void => {
    if (event.type === 'failed') {
      if (event.tries > ordinaryTries)
        log.warn('the namespace controller cannot empty a namespace and tries again', {
          key: event.key,
          tries: event.tries,
          error: asError(event.cause),
        });
    } else if (event.type === 'feed lost')
      log.debug(2, 'the namespace controller lists the namespaces again', { error: asError(event.cause) });
    else if (event.type === 'held')
      log.debug(2, 'a namespace that is being deleted is not empty yet', {
        namespace: event.namespace,
        tries: event.tries,
        failures: event.failures.join('; '),
      });
    else log.debug(2, 'a namespace was emptied', { namespace: event.namespace });
  };
