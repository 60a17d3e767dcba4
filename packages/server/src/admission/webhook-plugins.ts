import { asError, type CleanupStack, type Clock, type Random } from '@cluster-apiserver/base';
import { admissionRegistration } from '@cluster-apiserver/kinds';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { createHttpsClient, makeRetirable } from '@cluster-apiserver/gates';
import {
  createAdmissionWebhookMeasures,
  type OpenConditionMeasures,
  type AdmissionWebhookMeasures,
  createMutatingAdmissionWebhook,
  createValidatingAdmissionWebhook,
  type ClusterState,
  WebhookClients,
  type WebhookPluginOptions,
} from '@cluster-apiserver/policies';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import type { AdmissionSettings } from './admission-settings.ts';
import { requireStaticWebhooks } from './read-static-manifests.ts';
import type { OpenManifests } from './static-manifests.ts';

/** Shared by both webhook plugins. */
export interface WebhookCalls extends Pick<WebhookPluginOptions, 'clients' | 'failed'> {
  readonly measures: Readonly<Record<'admit' | 'validating', AdmissionWebhookMeasures>>;
}

export interface WebhookDependencies {
  readonly api: LiveApi;
  readonly clusterState: ClusterState;
  readonly openManifests: OpenManifests;
  readonly webhookCalls: WebhookCalls;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** Clients of their own for each purpose: those of one do not use up the connections of another. */
export function openWebhookClients(
  purpose: string,
  services: AdmissionSettings['webhookServices'],
  clock: Clock,
  cleanup: CleanupStack,
): WebhookClients {
  const clients = new WebhookClients({
    open: (options) => makeRetirable(createHttpsClient({ clock, ...options })),
    resolveService: (namespace, name) => services.get(`${namespace}/${name}`),
  });
  cleanup.defer(`connections to ${purpose}`, () => clients.close());
  return clients;
}

export function openWebhookCalls(
  services: AdmissionSettings['webhookServices'],
  {
    metrics,
    log,
    clock,
    conditionMeasures,
  }: Pick<WebhookDependencies, 'log' | 'clock'> & {
    readonly metrics: Metrics;
    readonly conditionMeasures: OpenConditionMeasures;
  },
  cleanup: CleanupStack,
): WebhookCalls {
  return {
    clients: openWebhookClients('admission webhooks', services, clock, cleanup),
    measures: createAdmissionWebhookMeasures(metrics, conditionMeasures),
    failed: ({ webhook, configuration, isIgnored, error }) =>
      log.warn('admission webhook failed', {
        webhook,
        configuration,
        failurePolicy: isIgnored ? 'Ignore' : 'Fail',
        error: asError(error),
      }),
  };
}

const plugins = {
  MutatingAdmissionWebhook: {
    kindName: 'MutatingWebhookConfiguration',
    type: 'admit',
    openPlugin: createMutatingAdmissionWebhook,
  },
  ValidatingAdmissionWebhook: {
    kindName: 'ValidatingWebhookConfiguration',
    type: 'validating',
    openPlugin: createValidatingAdmissionWebhook,
  },
} as const;

/** Undefined if the server does not serve the kind of the webhook configurations. */
export async function openWebhookPlugin(
  name: keyof typeof plugins,
  { api, clusterState, openManifests, webhookCalls, clock, random, log }: WebhookDependencies,
  cleanup: CleanupStack,
): Promise<AdmissionPlugin | undefined> {
  const { kindName, type, openPlugin } = plugins[name];
  const configurations = api.current.byGroupKind(admissionRegistration.group, kindName);
  if (!configurations) return undefined;
  const { clients, failed, measures } = webhookCalls;
  const plugin = openPlugin({
    configurations,
    staticObjects: await openManifests(name, [configurations], (manifests) =>
      requireStaticWebhooks(manifests, configurations),
    ),
    cluster: clusterState,
    clients,
    measures: measures[type],
    failed,
    clock,
    random,
    compileFailed: (error) =>
      log.error('compiling admission webhooks failed; trying again', { kind: kindName, error: asError(error) }),
  });
  cleanup.defer(name, () => plugin.close());
  return plugin;
}
