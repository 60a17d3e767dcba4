import { hash } from 'node:crypto';
import type { Clock } from '@cluster-apiserver/base';
import type { Metrics } from '@cluster-apiserver/telemetry';
import type { FileMeasures } from './follow-files.ts';

/** Where reloads are counted, and by which replica. */
export interface ReloadIdentity {
  readonly metrics: Metrics;
  /** Identifies this process in metrics that are compared between replicas. */
  readonly serverId: string;
  readonly environment: { readonly clock: Clock };
}

interface ReloadNames {
  /** Prefix of the metric names. */
  readonly prefix: string;
  /** What is reloaded, such as `the encryption configuration`. */
  readonly what: string;
  /** Additional labels. */
  readonly labels?: readonly string[];
}

/** The reload metrics of kube-apiserver, for each combination of additional label values. */
export function createReloadMeasures(
  { prefix, what, labels = [] }: ReloadNames,
  { metrics, serverId, environment: { clock } }: ReloadIdentity,
): (values: Readonly<Record<string, string>>) => FileMeasures {
  const more = Object.fromEntries(labels.map((label) => [label, 'any'] as const));
  const ofReloads = { ...more, apiserver_id_hash: 'any', status: ['success', 'failure'] } as const;
  const total = metrics.counter<string>({
    name: `${prefix}_automatic_reloads_total`,
    help: `Total number of automatic reloads of ${what} split by status and apiserver identity.`,
    labels: ofReloads,
  });
  const last = metrics.gauge<string>({
    name: `${prefix}_automatic_reload_last_timestamp_seconds`,
    help: `Timestamp of the last automatic reload of ${what} split by status and apiserver identity.`,
    labels: ofReloads,
  });
  const info = metrics.gauge<string>({
    name: `${prefix}_last_config_info`,
    help: `Information about the last applied ${what} with hash as label, split by apiserver identity. 1 for the active hash, 0 for previous ones; replicas should agree.`,
    labels: { ...more, apiserver_id_hash: 'any', hash: 'any' },
  });
  return (values) => {
    const own = { ...values, apiserver_id_hash: hashOf(serverId) };
    let shown: string | undefined;
    return {
      reloaded: (status) => {
        total.add({ ...own, status });
        last.set({ ...own, status }, clock.now() / 1000);
      },
      applied: ([content = '']) => {
        if (shown) info.set({ ...own, hash: shown }, 0);
        shown = hashOf(content);
        info.set({ ...own, hash: shown }, 1);
      },
    };
  };
}

const hashOf = (content: Buffer | string): string => `sha256:${hash('sha256', content, 'hex')}`;
