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
import { createOutages, type Log, type Metrics } from '@cluster-apiserver/telemetry';
import type { AdmissionSettings } from './admission-settings.ts';
import { requireStaticWebhooks } from './read-static-manifests.ts';
import type { OpenManifests } from './static-manifests.ts';

/** Shared by both webhook plugins. */
export interface WebhookCalls extends Pick<WebhookPluginOptions, 'clients' | 'reportCall'> {
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
  const outages = createOutages(log.withName('admission'), clock, {
    severity: 'warning',
    // Meaning: A webhook could not be reached, answered too late, or answered with something else than a review. With
    // `failurePolicy: Fail` its requests get 500.
    began: 'admission webhook failed',
    remedy:
      'check the program behind the webhook, or delete its configuration; failurePolicy decides meanwhile: docs/admission.md',
    ended: 'admission webhook answers again',
    steadyMs: 10_000,
  });
  return {
    clients: openWebhookClients('admission webhooks', services, clock, cleanup),
    measures: createAdmissionWebhookMeasures(metrics, conditionMeasures),
    reportCall: ({ name: webhook, configuration, isIgnoredOnFailure }, error) =>
      error
        ? outages.failed({ webhook, configuration }, { failurePolicy: isIgnoredOnFailure ? 'Ignore' : 'Fail', error })
        : outages.succeeded({ webhook, configuration }),
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
  const configurations = api.byGroupKind(admissionRegistration.group, kindName);
  if (!configurations) return undefined;
  const { clients, reportCall, measures } = webhookCalls;
  const plugin = openPlugin({
    configurations,
    staticObjects: await openManifests(name, [configurations], (manifests) =>
      requireStaticWebhooks(manifests, configurations),
    ),
    cluster: clusterState,
    clients,
    measures: measures[type],
    reportCall,
    clock,
    random,
    compileFailed: (error) =>
      log.error(
        // Meaning: Webhook configurations changed, and the change is not in force. The replica tries again after a
        // pause.
        'compiling admission webhooks failed; trying again',
        'report the error as a bug if it repeats; requests are decided by the configurations before',
        { kind: kindName, error: asError(error) },
      ),
  });
  cleanup.defer(name, () => plugin.close());
  return plugin;
}
