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
  type WebhookMeasures,
} from '@cluster-apiserver/gates';
import type { Files } from '../environment.ts';
import type { ServerFlags } from '../flags/flags.ts';
import { checkAuthorizationFlags, loadAuthorizationFlags } from './authorization-settings.ts';
import { createAuthorizationMeasures } from './authorization-measures.ts';
import type { WiringContext } from '../configuration/context.ts';
import { fileOf } from '../files/flag-files.ts';
import { followConfiguration } from '../files/follow-configuration.ts';
import { followConnection } from '../files/webhook-connection.ts';

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
  const openChain = await createChainOpener(options, cleanup);
  const file = fileOf(flags, 'authorization-config');
  const configured = file
    ? delegateToCurrent(
        (
          await followConfiguration(
            {
              file,
              name: 'authorization',
              kind: 'AuthorizationConfiguration',
              build: async (content, opened) =>
                openChain(await loadAuthorizationFile(content, flags, environment.files), opened),
              retire: ({ lastsMs }, opened) =>
                opened.defer(
                  'end of an authorization configuration',
                  environment.clock.after(lastsMs + retireSlackMs, () => void opened.close()),
                ),
            },
            options,
            cleanup,
          )
        ).current,
      )
    : await openChain(await loadAuthorizationFlags(flags, environment.files), cleanup);
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

interface AuthorizerChain extends Required<Authorizer> {
  /** How long a request may use it. */
  readonly lastsMs: number;
}

/** Added to the timeouts of its webhooks, after which no request uses a chain any more. */
const retireSlackMs = 1_000;

type OpenChain = (configuration: AuthorizationConfiguration, opened: CleanupStack) => Promise<AuthorizerChain>;

/** Opens the authorizers of a configuration, whose webhooks are closed by its cleanup. */
async function createChainOpener(options: AuthorizationOptions, cleanup: CleanupStack): Promise<OpenChain> {
  const measures = createAuthorizationMeasures(options.metrics);
  const policies = await openAbac(options, cleanup);
  const openAuthorizer = (
    configured: AuthorizerConfiguration,
    opened: CleanupStack,
  ): Authorizer | Promise<Authorizer> => {
    switch (configured.type) {
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'RBAC':
        return options.rbac;
      case 'ABAC':
        return policies;
      case 'Webhook':
        return openWebhook(
          configured.name,
          configured.webhook,
          { ...options, measures: measures.webhook(configured.name) },
          opened,
        );
      default:
        return unreachable(configured);
    }
  };
  return async ({ authorizers }, opened) => {
    const chain: Authorizer[] = [];
    // One after the other: if one cannot be opened, the cleanup has all that are open.
    for (const one of authorizers)
      chain.push(countDecisions(await openAuthorizer(one, opened), measures.decided(one.type, one.name)));
    const lastsMs = authorizers.reduce((sum, one) => sum + (one.type === 'Webhook' ? one.webhook.timeoutMs : 0), 0);
    return { ...uniteAuthorizers(chain), lastsMs };
  };
}

async function openWebhook(
  name: string,
  webhook: WebhookConfiguration,
  options: AuthorizationOptions & { readonly measures: WebhookMeasures },
  opened: CleanupStack,
): Promise<Authorizer> {
  const {
    flags,
    environment: { clock, random },
    log,
    measures,
  } = options;
  const connection = await followConnection(
    {
      name: `authorizer ${JSON.stringify(name)}`,
      file: {
        flag: flags['authorization-config'] === '' ? 'authorization-webhook-config-file' : 'authorization-config',
        path: webhook.connectionFile,
      },
      first: webhook.connection,
    },
    options,
  );
  opened.defer(`connections to the authorizer ${name}`, connection.close);
  const stopped = new AbortController();
  opened.defer(`questions to the authorizer ${name}`, () => stopped.abort(new Error('the server stops')));
  return createWebhookAuthorizer({
    ...webhook,
    name,
    connection: connection.current,
    clock,
    random,
    signal: stopped.signal,
    measures,
    failed: (error) => log.withName('authorization').warn('authorization webhook failed', { authorizer: name, error }),
  });
}

/** The ABAC authorizer of --authorization-policy-file; without policies if the flag is not set. */
async function openAbac(options: AuthorizationOptions, cleanup: CleanupStack): Promise<Required<Authorizer>> {
  const file = fileOf(options.flags, 'authorization-policy-file');
  if (!file) return createAbacAuthorizer([]);
  const { clock } = options.environment;
  const followed = await followConfiguration(
    {
      file,
      name: 'abac_policy',
      kind: 'Policy',
      build: async (content) => createAbacAuthorizer(await runTask(clock, undefined, readAbacPolicies(content), true)),
    },
    options,
    cleanup,
  );
  return delegateToCurrent(followed.current);
}
