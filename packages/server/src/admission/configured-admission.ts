import type { Clock, Random, CleanupStack } from '@cluster-apiserver/base';
import type { AdmissionConfiguration } from '@cluster-apiserver/config';
import type { AdmissionPlugin, AdmissionPluginName, Authorizer, Namespaces } from '@cluster-apiserver/gates';
import type { AdmissionWebhookMeasures, PolicyEnvironment, WebhookPluginOptions } from '@cluster-apiserver/policies';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import type { Files } from '../environment.ts';
import type { FileRecords } from '../configuration/configz.ts';
import type { OpenConditionMeasures } from './match-condition-measures.ts';
import type { ReloadMeasures } from '../files/reload-measures.ts';

/** What the factories of plugins can use. */
export interface AdmissionDependencies {
  /** Undefined if the server does not serve namespaces. */
  readonly namespaces: Namespaces | undefined;
  readonly api: LiveApi;
  readonly authorizer: Required<Authorizer>;
  /** Plugins that flags cannot disable; they run before the enabled ones. */
  readonly always: readonly AdmissionPlugin[];
  readonly clock: Clock;
  readonly random: Random;
  readonly files: Files;
  readonly records: FileRecords;
  readonly metrics: Metrics;
  /** Identifies this process in metrics that are compared between replicas. */
  readonly serverId: string;
  readonly log: Log;
  /** Closes what plugins have opened. */
  readonly cleanup: CleanupStack;
}

export interface ConfiguredAdmission extends AdmissionDependencies {
  readonly configuration: AdmissionConfiguration;
  /** By the plugin, which is the label `plugin`. */
  readonly manifestMeasures: (labels: { readonly plugin: AdmissionPluginName }) => ReloadMeasures;
  readonly conditionMeasures: OpenConditionMeasures;
  /** Shared by policies and webhooks. */
  readonly environment: PolicyEnvironment;
  readonly webhookCalls: WebhookCalls;
}

/** Shared by both webhook plugins. */
export interface WebhookCalls extends Pick<WebhookPluginOptions, 'clients' | 'failed'> {
  readonly measures: Readonly<Record<'admit' | 'validating', AdmissionWebhookMeasures>>;
}
