import { defaultStreamsMax } from '@cluster-apiserver/pipeline';
import { type CertificateFiles, certificateFilesOf } from '../files/pem-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import { compileAllowedOrigins } from './allowed-origins.ts';
import type { requestFlags } from './request-flags.ts';
import type { servingFlags } from './serving-flags.ts';

export interface ServingSettings {
  readonly host: string;
  readonly port: number;
  readonly streamsMax: number;
  /** 0 for no limit. */
  readonly connectionsPerPeerMax: number;
  /** Undefined for a self-signed certificate in `certificateDirectory`. */
  readonly certificate: CertificateFiles | undefined;
  readonly certificateDirectory: string;
  readonly goawayChance: number;
  readonly shutdownDelayMs: number;
  readonly requestTimeoutMs: number;
  /** Of a watch. */
  readonly minRequestTimeoutMs: number;
  readonly inFlightLimits: { readonly readOnly: number; readonly mutating: number };
  readonly watchesPerUserMax: number;
  readonly deleteCollectionWorkers: number;
  readonly allowedOrigin: (origin: string) => boolean;
}

type Values = FlagValues<typeof servingFlags & typeof requestFlags>;

export const servingSettingsOf = (values: Values, problems: string[]): ServingSettings => ({
  host: values['bind-address'],
  port: values['secure-port'],
  streamsMax: values['http2-max-streams-per-connection'] || defaultStreamsMax,
  connectionsPerPeerMax: values['max-connections-per-peer'],
  certificate: certificateFilesOf(values, ['tls-cert-file', 'tls-private-key-file'], problems),
  certificateDirectory: values['cert-dir'],
  goawayChance: values['goaway-chance'],
  shutdownDelayMs: values['shutdown-delay-duration'],
  requestTimeoutMs: values['request-timeout'],
  minRequestTimeoutMs: values['min-request-timeout'] * 1000,
  inFlightLimits: {
    readOnly: values['max-requests-inflight'],
    mutating: values['max-mutating-requests-inflight'],
  },
  watchesPerUserMax: values['max-watches-per-user'],
  deleteCollectionWorkers: values['delete-collection-workers'],
  allowedOrigin: compileAllowedOrigins(values['cors-allowed-origins'], problems),
});
