import { type CleanupStack, runTask, unreachable } from '@cluster-apiserver/base';
import {
  type AuthorizationConfiguration,
  type AuthorizerConfiguration,
  loadAbacPolicies,
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
  createAuthorizationMeasures,
  createWebhookAuthorizer,
  type WebhookMeasures,
} from '@cluster-apiserver/gates';
import { createOutages } from '@cluster-apiserver/telemetry';
import type { Files } from '../environment.ts';
import type { AuthorizationSettings } from './authorization-settings.ts';
import type { ServerContext } from '../configuration/context.ts';
import { type FlagFile, loadFlagFile } from '../files/flag-files.ts';
import { followConfiguration } from '../files/follow-configuration.ts';
import { followConnection, readConnection } from '../files/webhook-connection.ts';

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
export async function openAuthorization(
  settings: AuthorizationSettings,
  rbac: Required<Authorizer>,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Authorization> {
  const { file, isAlwaysAllowed } = settings;
  const openChain = await createChainOpener(settings, rbac, context, cleanup);
  const configured = file
    ? await followChain({ ...settings, file }, openChain, context, cleanup)
    : await openChain(await loadFlagAuthorizers(settings, context.environment.files), cleanup);
  const privileged = createGroupAuthorizer([mastersGroup]);
  return {
    forRequests: uniteAuthorizers([privileged, createPathAuthorizer(isAlwaysAllowed), configured]),
    forAdmission: uniteAuthorizers([privileged, configured]),
  };
}

/** Loads the files as they are loaded when they are put to use. */
export const authorizationFileChecks = (settings: AuthorizationSettings, files: Files): readonly Promise<unknown>[] => [
  settings.file
    ? loadFlagFile(settings.file, files, (content) => loadConfiguration(content, settings, files))
    : loadFlagAuthorizers(settings, files),
  loadFlagFile(settings.policyFile, files, loadAbacPolicies),
];

const loadConfiguration = (
  content: string,
  { policyFile }: AuthorizationSettings,
  files: Files,
): Promise<AuthorizationConfiguration> =>
  loadAuthorizationConfiguration(content, { readFile: files.read, policyFileGiven: policyFile !== undefined });

/** There is no flag for it; the value is that of kube-apiserver. */
const timeoutMs = 30_000;

/** The configuration by flags, for a server without --authorization-config. */
export async function loadFlagAuthorizers(
  { types, webhook: { file, ...webhook } }: AuthorizationSettings,
  files: Files,
): Promise<AuthorizationConfiguration> {
  const authorizers: AuthorizerConfiguration[] = [];
  for (const type of types)
    if (type !== 'Webhook') authorizers.push({ type, name: type.toLowerCase() });
    else if (file)
      authorizers.push({
        type,
        name: 'default',
        webhook: {
          ...webhook,
          timeoutMs,
          failurePolicy: 'NoOpinion',
          connectionFile: file.path,
          connection: await readConnection(file, files),
          matchConditions: [],
        },
      });
  return { authorizers };
}

async function followChain(
  settings: AuthorizationSettings & { readonly file: FlagFile },
  openChain: OpenChain,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Required<Authorizer>> {
  const { clock, files } = context.environment;
  const { current } = await followConfiguration(
    {
      file: settings.file,
      name: 'authorization',
      kind: 'AuthorizationConfiguration',
      build: async (content, opened) => openChain(await loadConfiguration(content, settings, files), opened),
      retire: ({ lastsMs }, opened) =>
        opened.defer(
          'end of an authorization configuration',
          clock.after(lastsMs + retireSlackMs, () => void opened.close()),
        ),
    },
    context,
    cleanup,
  );
  return delegateToCurrent(current);
}

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
async function createChainOpener(
  { file, policyFile }: AuthorizationSettings,
  rbac: Required<Authorizer>,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<OpenChain> {
  const measures = createAuthorizationMeasures(context.metrics);
  const policies = await openAbac(policyFile, context, cleanup);
  const webhookFlag = file?.flag ?? 'authorization-webhook-config-file';
  const openAuthorizer = (one: AuthorizerConfiguration, opened: CleanupStack): Authorizer | Promise<Authorizer> => {
    switch (one.type) {
      case 'AlwaysAllow':
        return alwaysAllow;
      case 'AlwaysDeny':
        return alwaysDeny;
      case 'RBAC':
        return rbac;
      case 'ABAC':
        return policies;
      case 'Webhook':
        return openWebhook({ ...one, flag: webhookFlag, measures: measures.webhook(one.name) }, context, opened);
      default:
        return unreachable(one);
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

interface WebhookOptions {
  readonly name: string;
  /** It names the kubeconfig, or the file that does. */
  readonly flag: string;
  readonly webhook: WebhookConfiguration;
  readonly measures: WebhookMeasures;
}

async function openWebhook(
  { name, flag, webhook, measures }: WebhookOptions,
  context: ServerContext,
  opened: CleanupStack,
): Promise<Authorizer> {
  const { clock, random } = context.environment;
  const connection = await followConnection(
    {
      name: `authorizer ${JSON.stringify(name)}`,
      file: { flag, path: webhook.connectionFile },
      first: webhook.connection,
    },
    context,
  );
  opened.defer(`connections to the authorizer ${name}`, connection.close);
  const outages = createOutages(context.log.withName('authorization'), clock, {
    severity: 'warning',
    // Meaning: The webhook could not be reached, answered too late, or answered with something else than a review.
    // Cached decisions remain valid.
    began: 'authorization webhook failed',
    remedy: 'check the webhook of this authorizer; failurePolicy decides meanwhile: docs/authorization.md',
    ended: 'authorization webhook answers again',
    steadyMs: 10_000,
  });
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
    reviewed: (error) =>
      error ? outages.failed({ authorizer: name }, { error }) : outages.succeeded({ authorizer: name }),
  });
}

/** The ABAC authorizer; without policies if there is no file. */
async function openAbac(
  file: FlagFile | undefined,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<Required<Authorizer>> {
  if (!file) return createAbacAuthorizer([]);
  const { clock } = context.environment;
  const { current } = await followConfiguration(
    {
      file,
      name: 'abac_policy',
      kind: 'Policy',
      build: async (content) => createAbacAuthorizer(await runTask(clock, undefined, readAbacPolicies(content), true)),
    },
    context,
    cleanup,
  );
  return delegateToCurrent(current);
}
