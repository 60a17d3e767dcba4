import { admissionRegistration } from '@cluster-apiserver/kinds';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { createHttpsClient, makeRetirable } from '@cluster-apiserver/gates';
import {
  createMutatingAdmissionWebhook,
  createValidatingAdmissionWebhook,
  WebhookClients,
} from '@cluster-apiserver/policies';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import type { AdmissionDependencies, ConfiguredAdmission, WebhookCalls } from './configured-admission.ts';
import { createAdmissionWebhookMeasures } from './admission-webhook-measures.ts';
import type { OpenConditionMeasures } from './match-condition-measures.ts';
import { buildStaticWebhooks } from './read-static-manifests.ts';
import { openStaticManifests } from './static-manifests.ts';

export function openWebhookCalls(
  flags: ServerFlags,
  { metrics, log, clock, cleanup }: Pick<AdmissionDependencies, 'metrics' | 'log' | 'clock' | 'cleanup'>,
  openConditions: OpenConditionMeasures,
): WebhookCalls {
  const services = parseWebhookServices(flags);
  const clients = new WebhookClients({
    open: (options) => makeRetirable(createHttpsClient({ clock, ...options })),
    resolveService: (namespace, name) => services.get(`${namespace}/${name}`),
  });
  cleanup.defer('connections to admission webhooks', () => clients.close());
  return {
    clients,
    measures: createAdmissionWebhookMeasures(metrics, openConditions),
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
export async function openAdmissionWebhook(
  name: keyof typeof plugins,
  dependencies: ConfiguredAdmission,
): Promise<AdmissionPlugin | undefined> {
  const { api, environment, webhookCalls, clock, random, log, cleanup } = dependencies;
  const { kindName, type, openPlugin } = plugins[name];
  const configurations = api.current.byGroupKind(admissionRegistration.group, kindName);
  if (!configurations) return undefined;
  const { clients, failed, measures } = webhookCalls;
  const plugin = openPlugin({
    configurations,
    staticObjects: await openStaticManifests(
      name,
      [configurations],
      (manifests) => buildStaticWebhooks(manifests, configurations),
      dependencies,
    ),
    environment,
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

const servicesFlag = 'admission-webhook-services';

/** Service addresses by `namespace/name`. */
export function parseWebhookServices(flags: ServerFlags): ReadonlyMap<string, string> {
  const services = flags[servicesFlag];
  const faults = [...services].flatMap(([service, address]) => [
    ...(/^[^/]+\/[^/]+$/.test(service) ? [] : [`${JSON.stringify(service)} is not namespace/name`]),
    ...(isAddress(address) ? [] : [`${JSON.stringify(address)} is not host or host:port`]),
  ]);
  if (faults.length > 0) throw new FlagError(faults.map((fault) => `--${servicesFlag}: ${fault}`));
  return services;
}

const isAddress = (address: string): boolean => /^[^/?#@\s]+$/.test(address) && URL.canParse(`https://${address}`);
