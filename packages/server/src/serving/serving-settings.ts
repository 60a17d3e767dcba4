import { defaultStreamsMax } from '@cluster-apiserver/pipeline';
import { certificateFilesOf } from '../files/pem-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import { compileAllowedOrigins } from './allowed-origins.ts';
import type { requestFlags } from './request-flags.ts';
import type { servingFlags } from './serving-flags.ts';

export type ServingSettings = ReturnType<typeof servingSettingsOf>;
type Values = FlagValues<typeof servingFlags & typeof requestFlags>;

export const servingSettingsOf = (values: Values, problems: string[]) => ({
  host: values['bind-address'],
  port: values['secure-port'],
  streamsMax: values['http2-max-streams-per-connection'] || defaultStreamsMax,
  /** 0 for no limit. */
  connectionsPerPeerMax: values['max-connections-per-peer'],
  /** Undefined for a self-signed certificate in the directory. */
  certificate: certificateFilesOf(values, ['tls-cert-file', 'tls-private-key-file'], problems),
  certificateDirectory: values['cert-dir'],
  goawayChance: values['goaway-chance'],
  shutdownDelayMs: values['shutdown-delay-duration'],
  requestTimeoutMs: values['request-timeout'],
  /** Of a watch. */
  minRequestTimeoutMs: values['min-request-timeout'] * 1000,
  inFlightLimits: {
    readOnly: values['max-requests-inflight'],
    mutating: values['max-mutating-requests-inflight'],
  },
  isFair: values['enable-priority-and-fairness'],
  watchesPerUserMax: values['max-watches-per-user'],
  deleteCollectionWorkers: values['delete-collection-workers'],
  allowedOrigin: compileAllowedOrigins(values['cors-allowed-origins'], problems),
});
