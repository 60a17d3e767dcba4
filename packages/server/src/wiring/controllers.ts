import { nearestName, type CleanupStack } from '@cluster-apiserver/base';
import {
  aggregateClusterRoles,
  type ClusterRoleAggregationEvent,
  checkPolicyTypes,
  collectGarbage,
  drainNamespaces,
  type GarbageCollectorEvent,
  type NamespaceControllerEvent,
  type PolicyTypeCheckEvent,
} from '@cluster-apiserver/controllers';
import type { Resource } from '@cluster-apiserver/registry';
import { campaign, type EtcdClient, startCompaction } from '@cluster-apiserver/storage';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags.ts';
import type { Environment } from '../environment.ts';
import { createControllerMeasures, publishLeadership } from './controller-measures.ts';
import { runWithRestarts } from './run-with-restarts.ts';
import { requireLeadership } from './require-leadership.ts';

export interface ControllerDependencies {
  readonly flags: ServerFlags;
  readonly environment: Environment;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly client: EtcdClient;
  readonly resources: readonly Resource[];
  /** The same resources in other groups and versions. */
  readonly views: readonly Resource[];
  readonly ownPrefix: string;
}

const garbageCollector = 'garbage-collector';
const namespaceController = 'namespace-controller';
const clusterRoleAggregation = 'clusterrole-aggregation-controller';
const policyStatus = 'validatingadmissionpolicy-status-controller';
const controllers = [garbageCollector, namespaceController, clusterRoleAggregation, policyStatus];

/**
 * Takes part in leader election, and runs the controllers while this replica is the leader. Returns a function that gives
 * up leadership for good.
 */
export function startControllers(
  { flags, environment, log, metrics, client, resources, views, ownPrefix }: ControllerDependencies,
  cleanup: CleanupStack,
): () => void {
  const { clock, random } = environment;
  const chosen = parseControllers(flags.controllers);
  const measuresOf = createControllerMeasures(metrics, controllers, clock);
  const lead = async (term: AbortSignal): Promise<void> => {
    log
      .withName('controllers')
      .info('acquired leadership; starting controllers', { controllers: [...chosen].join(',') });
    const own = resources.map((one) => ({ ...one, store: requireLeadership(one.store, () => election.isLeading) }));
    const options = { resources: own, clock, random, signal: term };
    const run = async (name: string, work: () => Promise<void>): Promise<void> => {
      if (!chosen.has(name)) return;
      const failed = (error: unknown): void =>
        log
          .withName('controllers')
          .error('controller failed; restarting it after a pause', { controller: name, error: asError(error) });
      await runWithRestarts({ clock, random, signal: term, work, failed });
    };
    const collector = {
      ...options,
      report: createCollectorReporter(log.withName(garbageCollector)),
      measures: measuresOf(garbageCollector),
    };
    const drain = {
      ...options,
      report: createNamespaceReporter(log.withName(namespaceController)),
      measures: measuresOf(namespaceController),
    };
    const aggregation = {
      ...options,
      report: createAggregationReporter(log.withName(clusterRoleAggregation)),
      measures: measuresOf(clusterRoleAggregation),
    };
    const served = [...resources, ...views].map((one) => one.served);
    const policyTypes = {
      ...options,
      served,
      report: createPolicyTypeReporter(log.withName(policyStatus)),
      measures: measuresOf(policyStatus),
    };
    await Promise.all([
      run(garbageCollector, () => collectGarbage(collector)),
      run(namespaceController, () => drainNamespaces(drain)),
      run(clusterRoleAggregation, () => aggregateClusterRoles(aggregation)),
      run(policyStatus, () => checkPolicyTypes(policyTypes)),
    ]);
    log.withName('controllers').info('stopped controllers', { reason: String(term.reason) });
  };
  const election = campaign({
    client,
    key: `${ownPrefix}election/leader`,
    identity: random.uuid(),
    lead,
    report: ({ key, value }) =>
      log
        .withName('controllers')
        .error('removed a leader election key without a lease, which blocked elections', { key, value }),
  });
  publishLeadership(metrics, election);
  cleanup.defer('controllers', () => election.close());
  const resign = (): void => void election.close();
  const intervalMs = flags['etcd-compaction-interval'];
  if (intervalMs === 0) return resign;
  const compaction = startCompaction({
    client,
    election,
    intervalMs,
    report: (event) => {
      if (event.type === 'compacted')
        log.withName('compaction').debug(2, 'compacted the history of etcd', { revision: event.revision });
      else
        log.withName('compaction').warn('compacting the history of etcd failed; retrying after the interval', {
          error: asError(event.cause),
        });
    },
  });
  cleanup.defer('compaction', () => compaction.close());
  return resign;
}

/** `*` enables all, `name` one, `-name` disables one; the last word about a controller wins. */
function parseControllers(words: readonly string[]): ReadonlySet<string> {
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

/** First failures are not logged: they are nearly always conflicts with concurrent writers. */
const silentTries = 3;

const createCollectorReporter =
  (log: Log) =>
  (event: GarbageCollectorEvent): void => {
    switch (event.type) {
      case 'failed':
        if (event.tries > silentTries)
          log.warn('garbage collection of an object failed; retrying', {
            key: event.key,
            tries: event.tries,
            error: asError(event.cause),
          });
        return;
      case 'unreadable':
        log.warn(
          'stored object unreadable; garbage collection of its owners and dependents waits until it is repaired or deleted',
          {
            key: event.key,
            error: asError(event.cause),
          },
        );
        return;
      case 'synced':
        return log.debug(2, 'garbage collector synced with the watch cache', { nodes: event.nodes });
      default:
        return log.debug(2, 'garbage collector wrote an object', { ...event });
    }
  };

const createNamespaceReporter =
  (log: Log) =>
  (event: NamespaceControllerEvent): void => {
    const { namespace } = event;
    switch (event.type) {
      case 'failed':
        if (event.tries > silentTries)
          log.warn('draining a namespace failed; retrying', {
            namespace,
            tries: event.tries,
            error: asError(event.cause),
          });
        return;
      case 'unreadable':
        log.warn('stored namespace unreadable; it is not drained until it is repaired', {
          namespace,
          error: asError(event.cause),
        });
        return;
      case 'held':
        if (event.unreadable > 0)
          log.warn('namespace contains unreadable objects; it stays Terminating until they are repaired or deleted', {
            namespace,
            failures: event.failures.join('; '),
          });
        else
          log.debug(2, 'namespace is not empty yet', {
            namespace,
            remaining: event.remaining.values().reduce((sum, count) => sum + count, 0),
            failures: event.failures.join('; '),
          });
        return;
      default:
        return log.debug(2, 'namespace finalized', { namespace });
    }
  };

const createAggregationReporter =
  (log: Log) =>
  (event: ClusterRoleAggregationEvent): void => {
    const { clusterRole } = event;
    if (event.type === 'aggregated')
      log.debug(2, 'wrote the rules of an aggregated ClusterRole', { clusterRole, rules: event.rules });
    else if (event.tries > silentTries)
      log.warn('aggregating a ClusterRole failed; retrying', {
        clusterRole,
        tries: event.tries,
        error: asError(event.cause),
      });
  };

const createPolicyTypeReporter =
  (log: Log) =>
  (event: PolicyTypeCheckEvent): void => {
    const { policy } = event;
    if (event.type === 'checked')
      log.debug(2, 'checked the types of a ValidatingAdmissionPolicy', { policy, warnings: event.warnings });
    else if (event.tries > silentTries)
      log.warn('checking the types of a ValidatingAdmissionPolicy failed; retrying', {
        policy,
        tries: event.tries,
        error: asError(event.cause),
      });
  };
