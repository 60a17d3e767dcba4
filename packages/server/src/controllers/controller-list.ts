import {
  aggregateClusterRoles,
  type ClusterRoleAggregationEvent,
  checkPolicyTypes,
  collectGarbage,
  drainNamespaces,
  type GarbageCollectorEvent,
  type NamespaceControllerEvent,
  type PolicyTypeCheckEvent,
  type PolicyTypeCheckOptions,
} from '@cluster-apiserver/controllers';
import type { Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';

/** What controllers work with while this replica is the leader. */
type ControllerTerm = Omit<PolicyTypeCheckOptions, 'report'>;

/** Each runs until the signal of its term aborts. */
export const controllers: Readonly<Record<string, (term: ControllerTerm, log: Log) => Promise<void>>> = {
  'garbage-collector': (term, log) => collectGarbage({ ...term, report: createCollectorReporter(log) }),
  'namespace-controller': (term, log) => drainNamespaces({ ...term, report: createNamespaceReporter(log) }),
  'clusterrole-aggregation-controller': (term, log) =>
    aggregateClusterRoles({ ...term, report: createAggregationReporter(log) }),
  'validatingadmissionpolicy-status-controller': (term, log) =>
    checkPolicyTypes({ ...term, report: createPolicyTypeReporter(log) }),
};

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
