import type { Clock, Random, Scope } from '@cluster-apiserver/base';
import { type AdmissionPlugin, httpsClient, retirable } from '@cluster-apiserver/gates';
import {
  mutatingAdmissionWebhook,
  type PolicyEnvironment,
  validatingAdmissionWebhook,
  WebhookClients,
  type WebhookFailure,
  type WebhookPluginOptions,
} from '@cluster-apiserver/policies';
import type { Resource } from '@cluster-apiserver/registry';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags.ts';
import { admissionWebhookMeasures } from './admission-webhook-measures.ts';

export interface AdmissionWebhookOptions {
  readonly resources: readonly Resource[];
  readonly environment: PolicyEnvironment;
  readonly metrics: Metrics;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
}

/** Opens a plugin; undefined for a server that does not serve its kind. */
export interface AdmissionWebhooks {
  mutating(): AdmissionPlugin | undefined;
  validating(): AdmissionPlugin | undefined;
}

/** What both plugins that call webhooks have in common: clients, metrics and the log. */
export function openAdmissionWebhooks(
  flags: ServerFlags,
  { resources, environment, metrics, log, clock, random }: AdmissionWebhookOptions,
  scope: Scope,
): AdmissionWebhooks {
  const services = webhookServices(flags);
  const clients = new WebhookClients({
    open: (options) => retirable(httpsClient({ clock, ...options })),
    resolveService: (namespace, name) => services.get(`${namespace}/${name}`),
  });
  scope.onClose('connections to admission webhooks', () => clients.close());
  const measures = admissionWebhookMeasures(metrics);
  const failed = ({ webhook, configuration, isIgnored, error }: WebhookFailure): void =>
    log.warn('admission webhook failed', {
      webhook,
      configuration,
      failurePolicy: isIgnored ? 'Ignore' : 'Fail',
      error: asError(error),
    });
  const open = (
    kindName: string,
    type: 'admit' | 'validating',
    plugin: (options: WebhookPluginOptions) => AdmissionPlugin,
  ): AdmissionPlugin | undefined => {
    const configurations = resources.find(({ kind }) => kind.kind === kindName);
    return (
      configurations &&
      plugin({ configurations, environment, clients, measures: measures[type], failed, clock, random })
    );
  };
  return {
    mutating: () => open('MutatingWebhookConfiguration', 'admit', mutatingAdmissionWebhook),
    validating: () => open('ValidatingWebhookConfiguration', 'validating', validatingAdmissionWebhook),
  };
}

const servicesFlag = 'admission-webhook-services';

/** Addresses of services by `namespace/name`. */
function webhookServices(flags: ServerFlags): ReadonlyMap<string, string> {
  const services = flags[servicesFlag];
  const faults = [...services].flatMap(([service, address]) => [
    ...(/^[^/]+\/[^/]+$/.test(service) ? [] : [`${JSON.stringify(service)} is not namespace/name`]),
    ...(isAddress(address) ? [] : [`${JSON.stringify(address)} is not host or host:port`]),
  ]);
  if (faults.length > 0) throw new FlagError(faults.map((fault) => `--${servicesFlag}: ${fault}`));
  return services;
}

const isAddress = (address: string): boolean => /^[^/?#@\s]+$/.test(address) && URL.canParse(`https://${address}`);
