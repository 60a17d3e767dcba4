import type { FeatureGates } from '@cluster-apiserver/config';
import type { VersionInfo } from '@cluster-apiserver/pipeline';
import type { Health, Log, Metrics } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';
import type { ServerFlags } from '../flags/flags.ts';
import type { CertificateMeasures } from '../files/certificate-measures.ts';
import type { FileRecords } from '../files/file-records.ts';

/** What every part that reads flags and files needs. */
export interface WiringContext {
  readonly flags: ServerFlags;
  readonly environment: Environment;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Identifies this process in metrics that are compared between replicas. */
  readonly serverId: string;
  /** State of each loaded file, for /configz. */
  readonly records: FileRecords;
}

/** What the parts of a serving process share. */
export interface ServerContext extends WiringContext {
  readonly gates: FeatureGates;
  readonly version: VersionInfo;
  readonly health: Health;
  /** Metrics of /metrics/slis. */
  readonly slis: Metrics;
  readonly certificates: CertificateMeasures;
  /** Whether --authorization-always-allow-paths contains a path; probes need no credentials for these. */
  readonly isAlwaysAllowed: (path: string) => boolean;
  readonly countTokenLookup: (status: 'hit' | 'miss') => void;
}
