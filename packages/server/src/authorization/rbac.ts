import { asError, callUntil, type CleanupStack } from '@cluster-apiserver/base';
import { FollowedPolicy, policyResources, reconcileDefaultRoles } from '@cluster-apiserver/controllers';
import {
  type AdmissionPlugin,
  type Authorizer,
  createRbacAuthorizer,
  createRbacEscalation,
} from '@cluster-apiserver/gates';
import { rbacGroup } from '@cluster-apiserver/model';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { ServerContext } from '../configuration/context.ts';
import { startStartupWork } from '../retry-until-done.ts';

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
  api: LiveApi,
  /** Resolves when the watch cache has been filled for the first time. */
  filled: Promise<void>,
  { environment: { clock, random }, health, log }: ServerContext,
  cleanup: CleanupStack,
): Rbac | undefined {
  const resources = policyResources(api);
  const [clusterRoles, clusterRoleBindings] = ['ClusterRole', 'ClusterRoleBinding'].map((name) =>
    api.byGroupKind(rbacGroup, name),
  );
  if (resources.length === 0 || !clusterRoles || !clusterRoleBindings) return undefined;
  const failed = (error: unknown): void =>
    log.withName('rbac').error(
      // Meaning: Roles and bindings changed, and the change is not in force on this replica.
      'indexing roles and bindings failed; rebuilding the index',
      'report the error as a bug if it repeats; decisions follow the index before',
      { error: asError(error) },
    );
  const policy = new FollowedPolicy({ resources, clock, failed });
  cleanup.defer('RBAC policy', () => policy.close());
  const { current, refresh } = policy;
  return {
    authorizer: createRbacAuthorizer(current),
    createEscalationCheck: (authorizer) => createRbacEscalation({ current, refresh, authorizer, clock }),
    startDefaultRoles: () => {
      let isDone = false;
      health.add({
        name: 'poststarthook/rbac/bootstrap-roles',
        endpoints: ['readyz', 'healthz'],
        check: () => {
          if (!isDone) throw new Error('default roles and bindings are not reconciled yet');
          if (!current()) throw new Error('roles and bindings have not been read yet');
        },
      });
      const work = (signal: AbortSignal): Promise<void> =>
        reconcileDefaultRoles({
          clusterRoles,
          clusterRoleBindings,
          call: () => {
            signal.throwIfAborted();
            return callUntil(clock.monotonicMs() + callTimeoutMs);
          },
          log: log.withName('rbac'),
        });
      const workFailed = (error: unknown): void =>
        log.withName('rbac').warn(
          // Meaning: The roles and bindings that a cluster starts with could not be created or brought up to date.
          // etcd or an admission policy refuses the write.
          'reconciling default roles and bindings failed; retrying',
          'read the error; the server is not ready before the first success',
          {
            error: asError(error instanceof AggregateError ? error.errors[0] : error),
          },
        );
      void startStartupWork(
        { name: 'default roles', clock, random, ready: filled, work, failed: workFailed },
        cleanup,
      ).then((done) => {
        isDone = done;
      });
    },
  };
}

/** Timeout of each read and write. */
const callTimeoutMs = 10_000;
