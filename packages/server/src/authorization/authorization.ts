import { type CleanupStack, runTask, unreachable } from '@cluster-apiserver/base';
import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  readAbacPolicies,
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
import type { Files } from '../environment.ts';
import type { ServerFlags } from '../flags/flags.ts';
import { checkAuthorizationFlags, loadAuthorizationFlags } from './authorization-settings.ts';
import { createAuthorizationMeasures } from './authorization-measures.ts';
import type { WiringContext } from '../configuration/context.ts';
import { followConfiguration } from '../files/followed-configuration.ts';
import { type FollowedConnection, followConnection } from '../files/webhook-connection.ts';

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
      build: async (content) => chains.open(await loadAuthorizationFile(content, flags, environment.files)),
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

export const loadAuthorizationFile = (
  content: string,
  flags: ServerFlags,
  files: Files,
): Promise<AuthorizationConfiguration> =>
  loadAuthorizationConfiguration(content, {
    readFile: files.read,
    policyFileGiven: flags['authorization-policy-file'] !== '',
  });

const delegateToCurrent = (current: () => Required<Authorizer>): Required<Authorizer> => ({
  authorize: (question, call) => current().authorize(question, call),
  rulesOf: (user, namespace, call) => current().rulesOf(user, namespace, call),
});

interface AuthorizerChain {
  readonly authorizer: Required<Authorizer>;
  /** Closes the chain once the requests that use it have ended. */
  readonly retire: () => void;
}

/** Added to the timeouts of its webhooks, after which no request uses a chain any more. */
const retireSlackMs = 1_000;

async function openChains(options: AuthorizationOptions, cleanup: CleanupStack): Promise<AuthorizerChains> {
  const measures = createAuthorizationMeasures(options.metrics);
  const chains = new AuthorizerChains(options, measures, await followPolicies(options, cleanup));
  cleanup.defer('authorization webhooks', () => chains.close());
  return chains;
}

/** Opens the chain of each configuration, of which retired ones close later. */
class AuthorizerChains {
  readonly #options: AuthorizationOptions;
  readonly #measures: ReturnType<typeof createAuthorizationMeasures>;
  readonly #policies: Required<Authorizer>;
  readonly #stopped = new AbortController();
  readonly #closings = new Set<() => void>();

  constructor(
    options: AuthorizationOptions,
    measures: ReturnType<typeof createAuthorizationMeasures>,
    policies: Required<Authorizer>,
  ) {
    this.#options = options;
    this.#measures = measures;
    this.#policies = policies;
  }

  open({ authorizers }: AuthorizationConfiguration): AuthorizerChain {
    const connections: FollowedConnection[] = [];
    const chain = authorizers.map((one) =>
      countDecisions(this.#createAuthorizer(one, connections), this.#measures.decided(one.type, one.name)),
    );
    let cancel = (): void => {};
    const close = (): void => {
      cancel();
      this.#closings.delete(close);
      for (const connection of connections) connection.close();
    };
    this.#closings.add(close);
    const lastsMs = authorizers.reduce((sum, one) => sum + (one.type === 'Webhook' ? one.webhook.timeoutMs : 0), 0);
    return {
      authorizer: uniteAuthorizers(chain),
      retire: () => {
        if (this.#stopped.signal.aborted) close();
        else cancel = this.#options.environment.clock.after(lastsMs + retireSlackMs, close);
      },
    };
  }

  close(): void {
    this.#stopped.abort(new Error('the server stops'));
    for (const close of this.#closings) close();
  }

  #createAuthorizer(configured: AuthorizerConfiguration, connections: FollowedConnection[]): Authorizer {
    switch (configured.type) {
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'RBAC':
        return this.#options.rbac;
      case 'ABAC':
        return this.#policies;
      case 'Webhook': {
        const { name, webhook } = configured;
        const connection = openConnection(name, webhook, this.#options);
        connections.push(connection);
        return this.#createWebhook(name, webhook, connection);
      }
      default:
        return unreachable(configured);
    }
  }

  #createWebhook(name: string, webhook: WebhookConfiguration, connection: FollowedConnection): Authorizer {
    const { environment, log } = this.#options;
    return createWebhookAuthorizer({
      ...webhook,
      name,
      connection: connection.current,
      clock: environment.clock,
      random: environment.random,
      signal: this.#stopped.signal,
      measures: this.#measures.webhook(name),
      failed: (error) =>
        log.withName('authorization').warn('authorization webhook failed', { authorizer: name, error }),
    });
  }
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
      build: async (content) =>
        createAbacAuthorizer(await runTask(options.environment.clock, undefined, readAbacPolicies(content), true)),
    },
    options,
    cleanup,
  );
  return followed ? delegateToCurrent(followed) : createAbacAuthorizer([]);
}
