import {
  backoff,
  callUntil,
  type Clock,
  type Random,
  type CleanupStack,
  onAbort,
  sleep,
} from '@cluster-apiserver/base';
import {
  type DefaultRoleEvent,
  FollowedPolicy,
  policyResources,
  reconcileDefaultRoles,
} from '@cluster-apiserver/controllers';
import {
  type AdmissionPlugin,
  type Authorizer,
  createRbacAuthorizer,
  createRbacEscalation,
} from '@cluster-apiserver/gates';
import { rbacGroup } from '@cluster-apiserver/model';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { Health, Log } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';

export interface RbacDependencies {
  readonly api: LiveApi;
  /** Resolves when the watch cache has been filled for the first time. */
  readonly filled: Promise<void>;
  readonly clock: Clock;
  readonly random: Random;
  readonly health: Health;
  readonly log: Log;
}

export interface Rbac {
  /** Decides by the roles and bindings in the watch cache. */
  readonly authorizer: Required<Authorizer>;
  /** Rejects roles and bindings that grant more than their writer holds, by the configured authorizers. */
  createEscalationCheck(authorizer: Authorizer): AdmissionPlugin;
  /** Reconciles the default roles and bindings; the replica is not ready before. */
  startDefaultRoles(): void;
}

/** Undefined if the server does not serve roles and bindings. */
export function openRbac(
  { api, filled, clock, random, health, log }: RbacDependencies,
  cleanup: CleanupStack,
): Rbac | undefined {
  const resources = policyResources(api.current);
  const [clusterRoles, clusterRoleBindings] = ['ClusterRole', 'ClusterRoleBinding'].map((name) =>
    api.current.byGroupKind(rbacGroup, name),
  );
  if (resources.length === 0 || !clusterRoles || !clusterRoleBindings) return undefined;
  const failed = (error: unknown): void =>
    log.withName('rbac').error('indexing roles and bindings failed; rebuilding the index', { error: asError(error) });
  const policy = new FollowedPolicy({ resources, clock, failed });
  cleanup.defer('RBAC policy', () => policy.close());
  const { current, refresh } = policy;
  return {
    authorizer: createRbacAuthorizer(current),
    createEscalationCheck: (authorizer) => createRbacEscalation({ current, refresh, authorizer, clock }),
    startDefaultRoles: () => {
      const closing = new AbortController();
      let isDone = false;
      health.add({
        name: 'poststarthook/rbac/bootstrap-roles',
        endpoints: ['readyz', 'healthz'],
        check: () => {
          if (!isDone) throw new Error('default roles and bindings are not reconciled yet');
          if (!current()) throw new Error('roles and bindings have not been read yet');
        },
      });
      const { signal } = closing;
      const reporter = createReporter(log.withName('rbac'));
      const options = {
        clusterRoles,
        clusterRoleBindings,
        call: () => {
          signal.throwIfAborted();
          return callUntil(clock.monotonicMs() + callTimeoutMs);
        },
        report: reporter.report,
      };
      const reconciled = retryUntilDone({
        work: () => reconcileDefaultRoles(options).finally(reporter.done),
        filled,
        clock,
        random,
        log,
        signal,
      });
      cleanup.defer('default roles', async () => {
        closing.abort(new Error('the server is closing'));
        await reconciled;
      });
      void reconciled.then(() => {
        isDone = !signal.aborted;
      });
    },
  };
}

/** Timeout of each read and write. */
const callTimeoutMs = 10_000;

const retries = { firstMs: 100, maxMs: 10_000 };

async function retryUntilDone({
  work,
  filled,
  clock,
  random,
  log,
  signal,
}: Pick<RbacDependencies, 'filled' | 'clock' | 'random' | 'log'> & {
  readonly work: () => Promise<void>;
  readonly signal: AbortSignal;
}): Promise<void> {
  await Promise.race([filled, new Promise<void>((resolve) => onAbort(signal, resolve))]);
  const pauses = backoff(retries, random);
  while (!signal.aborted) {
    try {
      return await work();
    } catch (error) {
      if (!signal.aborted)
        log.withName('rbac').warn('reconciling default roles and bindings failed; retrying', {
          error: asError(error instanceof AggregateError ? error.errors[0] : error),
        });
    }
    // The signal ends the pause when the server closes.
    await sleep(clock, pauses.nextMs(), signal).catch(() => {});
  }
}

interface Reporter {
  readonly report: (event: DefaultRoleEvent) => void;
  /** Logs what the events of one reconciliation have in common. */
  readonly done: () => void;
}

function createReporter(log: Log): Reporter {
  let unreadable: string[] = [];
  return {
    report: ({ type, kind, name }) => {
      if (type === 'protected')
        log.warn('default role or binding is out of date and protected by its autoupdate annotation', { kind, name });
      else if (type === 'unreadable') unreadable.push(`${kind}/${name}`);
      else log.debug(1, 'reconciled default role or binding', { kind, name, result: type });
    },
    done: () => {
      // With a wrong key all of them are.
      if (unreadable.length > 0)
        log.warn('default roles or bindings unreadable; they grant nothing until they are repaired or deleted', {
          count: unreadable.length,
          first: unreadable[0],
        });
      unreadable = [];
    },
  };
}
