import { type CleanupStack, unreachable } from '@cluster-apiserver/base';
import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  loadAbacPolicies,
  loadAuthorizationConfiguration,
  type WebhookConfiguration,
} from '@cluster-apiserver/config';
import {
  abac,
  alwaysAllow,
  alwaysAllowedPaths,
  alwaysDeny,
  type Authorizer,
  firstToDecide,
  instrumented,
  mastersGroup,
  privilegedGroups,
  webhookAuthorizer,
} from '@cluster-apiserver/gates';
import { checkAuthorizationFlags, configurationOfFlags } from './authorization-flags.ts';
import { authorizationMeasures } from './authorization-measures.ts';
import { type FollowingOptions, followConfiguration } from './followed-configuration.ts';
import { type FollowedConnection, followConnection } from './webhook-connection.ts';

export interface AuthorizationOptions extends FollowingOptions {
  /** The paths of --authorization-always-allow-paths. */
  readonly isAlwaysAllowed: (path: string) => boolean;
  readonly rbac: Required<Authorizer>;
}

export interface Authorization {
  /** Decides requests, and reviews of access. */
  readonly ofRequests: Required<Authorizer>;
  /** Decides what admission asks. That a path is open to everybody is no right of a user. */
  readonly ofAdmission: Required<Authorizer>;
}

/**
 * Who decides, in this order: the privileged group, the paths that are open to everybody, and the configured
 * authorizers. Each request is decided by the configuration that is in service when it comes, and by no other.
 */
export async function openAuthorization(options: AuthorizationOptions, scope: CleanupStack): Promise<Authorization> {
  const { flags, surroundings, isAlwaysAllowed } = options;
  checkAuthorizationFlags(flags);
  const chains = await openChains(options, scope);
  const followed = await followConfiguration(
    {
      flag: 'authorization-config',
      name: 'authorization',
      reloads: true,
      build: async (content) =>
        chains.open(
          await loadAuthorizationConfiguration(content, {
            readFile: surroundings.files.read,
            policyFileGiven: flags['authorization-policy-file'] !== '',
          }),
        ),
      close: (old) => old.retire(),
    },
    options,
    scope,
  );
  const configured = followed
    ? currentOf(() => followed().authorizer)
    : chains.open(await configurationOfFlags(flags, surroundings.files)).authorizer;
  const privileged = privilegedGroups([mastersGroup]);
  return {
    ofRequests: firstToDecide([privileged, alwaysAllowedPaths(isAlwaysAllowed), configured]),
    ofAdmission: firstToDecide([privileged, configured]),
  };
}

const currentOf = (current: () => Required<Authorizer>): Required<Authorizer> => ({
  authorize: (question, call) => current().authorize(question, call),
  rulesOf: (user, namespace, call) => current().rulesOf(user, namespace, call),
});

interface Chain {
  readonly authorizer: Required<Authorizer>;
  /** Another is in service, and requests that have begun with this one end with it. */
  readonly retire: () => void;
}

interface Chains {
  open(configuration: AuthorizationConfiguration): Chain;
}

/** Beyond the timeouts of its webhooks, nobody waits for a chain. */
const retireSlackMs = 1_000;

async function openChains(options: AuthorizationOptions, scope: CleanupStack): Promise<Chains> {
  const { surroundings, metrics, rbac } = options;
  const { clock } = surroundings;
  const measures = authorizationMeasures(metrics);
  const policies = await followPolicies(options, scope);
  const stopped = new AbortController();
  const closings = new Set<() => void>();
  scope.defer('authorization webhooks', () => {
    stopped.abort(new Error('the server stops'));
    for (const close of closings) close();
  });

  const authorizerOf = (configured: AuthorizerConfiguration, connections: FollowedConnection[]): Authorizer => {
    switch (configured.type) {
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'RBAC':
        return rbac;
      case 'ABAC':
        return policies;
      case 'Webhook': {
        const { name, webhook } = configured;
        const connection = connectionOf(name, webhook, options);
        connections.push(connection);
        return webhookOf(name, webhook, connection);
      }
      default:
        return unreachable(configured);
    }
  };
  const webhookOf = (name: string, webhook: WebhookConfiguration, connection: FollowedConnection): Authorizer =>
    webhookAuthorizer({
      ...webhook,
      name,
      connection: connection.current,
      clock,
      random: surroundings.random,
      signal: stopped.signal,
      measures: measures.webhook(name),
      failed: (error) =>
        options.log.withName('authorization').warn('authorization webhook failed', { authorizer: name, error }),
    });
  return {
    open: ({ authorizers }) => {
      const connections: FollowedConnection[] = [];
      const chain = authorizers.map((one) =>
        instrumented(authorizerOf(one, connections), measures.decided(one.type, one.name)),
      );
      let cancel = (): void => {};
      const close = (): void => {
        cancel();
        closings.delete(close);
        for (const connection of connections) connection.close();
      };
      closings.add(close);
      const lastsMs = authorizers.reduce((sum, one) => sum + (one.type === 'Webhook' ? one.webhook.timeoutMs : 0), 0);
      return {
        authorizer: firstToDecide(chain),
        retire: () => {
          if (stopped.signal.aborted) close();
          else cancel = clock.after(lastsMs + retireSlackMs, close);
        },
      };
    },
  };
}

const connectionOf = (
  name: string,
  { connectionFile, connection }: WebhookConfiguration,
  { flags, surroundings, log, records }: AuthorizationOptions,
): FollowedConnection =>
  followConnection(
    {
      file: connectionFile,
      first: connection,
      of: `authorizer ${JSON.stringify(name)}`,
      flag: flags['authorization-config'] === '' ? 'authorization-webhook-config-file' : 'authorization-config',
    },
    { surroundings, log, records },
  );

/** The authorizer of --authorization-policy-file. Without it there are no policies. */
async function followPolicies(options: AuthorizationOptions, scope: CleanupStack): Promise<Required<Authorizer>> {
  const followed = await followConfiguration(
    {
      flag: 'authorization-policy-file',
      name: 'abac_policy',
      reloads: true,
      build: (content) => abac(loadAbacPolicies(content)),
    },
    options,
    scope,
  );
  return followed ? currentOf(followed) : abac([]);
}
