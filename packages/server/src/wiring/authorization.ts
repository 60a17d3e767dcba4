import { type CleanupStack, unreachable } from '@cluster-apiserver/base';
import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  loadAbacPolicies,
  loadAuthorizationConfiguration,
  type WebhookConfiguration,
} from '@cluster-apiserver/config';
import {
  createAbacAuthorizer,
  alwaysAllow,
  createPathAuthorizer,
  alwaysDeny,
  type Authorizer,
  uniteAuthorizers,
  countDecisions,
  mastersGroup,
  createGroupAuthorizer,
  createWebhookAuthorizer,
} from '@cluster-apiserver/gates';
import { checkAuthorizationFlags, loadAuthorizationFlags } from './authorization-flags.ts';
import { createAuthorizationMeasures } from './authorization-measures.ts';
import type { WiringContext } from './context.ts';
import { followConfiguration } from './followed-configuration.ts';
import { type FollowedConnection, followConnection } from './webhook-connection.ts';

export interface AuthorizationOptions extends WiringContext {
  /** Whether --authorization-always-allow-paths contains a path. */
  readonly isAlwaysAllowed: (path: string) => boolean;
  readonly rbac: Required<Authorizer>;
}

export interface Authorization {
  /** Authorizes requests and access reviews. */
  readonly forRequests: Required<Authorizer>;
  /** Authorizes checks of admission plugins: without always-allowed paths, which are no permissions of a user. */
  readonly forAdmission: Required<Authorizer>;
}

/**
 * The order of authorizers: the privileged group, the always-allowed paths, and the configured authorizers. Each request is
 * authorized by the configuration that is active when the request arrives.
 */
export async function openAuthorization(options: AuthorizationOptions, cleanup: CleanupStack): Promise<Authorization> {
  const { flags, environment, isAlwaysAllowed } = options;
  checkAuthorizationFlags(flags);
  const chains = await openChains(options, cleanup);
  const followed = await followConfiguration(
    {
      flag: 'authorization-config',
      name: 'authorization',
      reloads: true,
      build: async (content) =>
        chains.open(
          await loadAuthorizationConfiguration(content, {
            readFile: environment.files.read,
            policyFileGiven: flags['authorization-policy-file'] !== '',
          }),
        ),
      close: (old) => old.retire(),
    },
    options,
    cleanup,
  );
  const configured = followed
    ? delegateToCurrent(() => followed().authorizer)
    : chains.open(await loadAuthorizationFlags(flags, environment.files)).authorizer;
  const privileged = createGroupAuthorizer([mastersGroup]);
  return {
    forRequests: uniteAuthorizers([privileged, createPathAuthorizer(isAlwaysAllowed), configured]),
    forAdmission: uniteAuthorizers([privileged, configured]),
  };
}

const delegateToCurrent = (current: () => Required<Authorizer>): Required<Authorizer> => ({
  authorize: (question, call) => current().authorize(question, call),
  rulesOf: (user, namespace, call) => current().rulesOf(user, namespace, call),
});

interface AuthorizerChain {
  readonly authorizer: Required<Authorizer>;
  /** Closes the chain once the requests that use it have ended. */
  readonly retire: () => void;
}

interface AuthorizerChains {
  open(configuration: AuthorizationConfiguration): AuthorizerChain;
}

/** Added to the timeouts of its webhooks, after which no request uses a chain any more. */
const retireSlackMs = 1_000;

async function openChains(options: AuthorizationOptions, cleanup: CleanupStack): Promise<AuthorizerChains> {
  const { environment, metrics, rbac } = options;
  const { clock } = environment;
  const measures = createAuthorizationMeasures(metrics);
  const policies = await followPolicies(options, cleanup);
  const stopped = new AbortController();
  const closings = new Set<() => void>();
  cleanup.defer('authorization webhooks', () => {
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
        const connection = openConnection(name, webhook, options);
        connections.push(connection);
        return webhookOf(name, webhook, connection);
      }
      default:
        return unreachable(configured);
    }
  };
  const webhookOf = (name: string, webhook: WebhookConfiguration, connection: FollowedConnection): Authorizer =>
    createWebhookAuthorizer({
      ...webhook,
      name,
      connection: connection.current,
      clock,
      random: environment.random,
      signal: stopped.signal,
      measures: measures.webhook(name),
      failed: (error) =>
        options.log.withName('authorization').warn('authorization webhook failed', { authorizer: name, error }),
    });
  return {
    open: ({ authorizers }) => {
      const connections: FollowedConnection[] = [];
      const chain = authorizers.map((one) =>
        countDecisions(authorizerOf(one, connections), measures.decided(one.type, one.name)),
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
        authorizer: uniteAuthorizers(chain),
        retire: () => {
          if (stopped.signal.aborted) close();
          else cancel = clock.after(lastsMs + retireSlackMs, close);
        },
      };
    },
  };
}

const openConnection = (
  name: string,
  { connectionFile, connection }: WebhookConfiguration,
  { flags, environment, log, records }: AuthorizationOptions,
): FollowedConnection =>
  followConnection(
    {
      file: connectionFile,
      first: connection,
      of: `authorizer ${JSON.stringify(name)}`,
      flag: flags['authorization-config'] === '' ? 'authorization-webhook-config-file' : 'authorization-config',
    },
    { environment, log, records },
  );

/** The ABAC authorizer of --authorization-policy-file; without policies if the flag is not set. */
async function followPolicies(options: AuthorizationOptions, cleanup: CleanupStack): Promise<Required<Authorizer>> {
  const followed = await followConfiguration(
    {
      flag: 'authorization-policy-file',
      name: 'abac_policy',
      reloads: true,
      build: (content) => createAbacAuthorizer(loadAbacPolicies(content)),
    },
    options,
    cleanup,
  );
  return followed ? delegateToCurrent(followed) : createAbacAuthorizer([]);
}
