import type { CleanupStack } from '@cluster-apiserver/base';
import { type FeatureGates, parseFeatureGates } from '@cluster-apiserver/config';
import type { VersionInfo } from '@cluster-apiserver/pipeline';
import { createMetrics, type Health, type Log, type Metrics } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';
import type { ServerFlags } from '../flags.ts';
import { getVersionInfo } from '../version.ts';
import { compileAlwaysAllowedPaths } from './always-allowed-paths.ts';
import { checkFlags } from './check-flags.ts';
import { type CertificateMeasures, createCertificateMeasures } from './certificate-measures.ts';
import { createFileRecords, type FileRecords, recordStartupFiles } from './configz.ts';
import { openHealth } from './health.ts';
import { monitorHeap } from './heap.ts';
import { createTokenCacheMeasure } from './identity-measures.ts';
import { publishOmittedLines } from './log-measures.ts';
import { createFileMeasure } from './reload-measures.ts';
import { publishVersion } from './version-measures.ts';
import { warnOfFlags } from './warn-of-flags.ts';

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

/** Throws a FlagError for flags that contradict each other, and for files that cannot be read. */
export async function openContext(
  flags: ServerFlags,
  environment: Environment,
  log: Log,
  cleanup: CleanupStack,
): Promise<ServerContext> {
  const { clock, random, files, runtime } = environment;
  await checkFlags(flags, files);
  await warnOfFlags(flags, files, log);
  const { gates } = parseFeatureGates(flags['feature-gates']);
  const metrics = createMetrics({ ofProcess: true });
  const slis = createMetrics({ ofProcess: false });
  const records = createFileRecords(clock, createFileMeasure(metrics));
  const version = getVersionInfo(runtime);
  publishVersion(metrics, version, gates);
  publishOmittedLines(metrics, log);
  monitorHeap(environment, metrics, log, cleanup);
  await recordStartupFiles(flags, files, records);
  return {
    flags,
    environment,
    metrics,
    log,
    serverId: random.uuid(),
    records,
    gates,
    version,
    health: openHealth(clock, log, slis),
    slis,
    certificates: createCertificateMeasures(metrics),
    isAlwaysAllowed: compileAlwaysAllowedPaths(flags),
    countTokenLookup: createTokenCacheMeasure(metrics),
  };
}
