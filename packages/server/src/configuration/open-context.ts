import type { CleanupStack } from '@cluster-apiserver/base';
import { parseFeatureGates } from '@cluster-apiserver/config';
import { createMetrics, type Log } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';
import type { ServerFlags } from '../flags/flags.ts';
import { getVersionInfo } from '../version.ts';
import { compileAlwaysAllowedPaths } from '../authorization/always-allowed-paths.ts';
import { createCertificateMeasures } from '../files/certificate-measures.ts';
import { checkFlags } from './check-flags.ts';
import { recordStartupFiles } from './configz.ts';
import { createFileRecords } from '../files/file-records.ts';
import type { ServerContext } from './context.ts';
import { openHealth } from '../observability/health.ts';
import { monitorHeap } from '../observability/heap.ts';
import { createTokenCacheMeasure } from '../observability/identity-measures.ts';
import { publishOmittedLines } from '../observability/log-measures.ts';
import { publishVersion } from '../observability/version-measures.ts';
import { warnOfFlags } from './warn-of-flags.ts';

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
  const records = createFileRecords(clock, metrics);
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
