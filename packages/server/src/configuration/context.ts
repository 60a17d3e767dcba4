import type { CleanupStack } from '@cluster-apiserver/base';
import { createMetrics, type Health, type Log, type Metrics } from '@cluster-apiserver/telemetry';
import type { Environment } from '../environment.ts';
import { type CertificateMeasures, createCertificateMeasures } from '../files/certificate-measures.ts';
import { createFileRecords, type FileRecords } from '../files/file-records.ts';
import { createServerHealth } from '../observability/health.ts';
import { startHeapMonitor } from '../observability/heap.ts';
import { publishOmittedLines } from '../observability/log-measures.ts';

/** The machine that a server runs on, and where its parts report what they do. */
export interface ServerContext {
  readonly environment: Environment;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Identifies this process in metrics that are compared between replicas. */
  readonly serverId: string;
  /** State of each loaded file, for /configz. */
  readonly records: FileRecords;
  readonly certificates: CertificateMeasures;
  readonly health: Health;
}

/** Health checks also count in `slis`, the metrics of /metrics/slis. */
export function openContext(environment: Environment, log: Log, slis: Metrics, cleanup: CleanupStack): ServerContext {
  const { clock, random } = environment;
  const metrics = createMetrics({ ofProcess: true });
  publishOmittedLines(metrics, log);
  startHeapMonitor(environment, metrics, log, cleanup);
  return {
    environment,
    metrics,
    log,
    serverId: random.uuid(),
    records: createFileRecords(clock, metrics),
    certificates: createCertificateMeasures(metrics),
    health: createServerHealth(clock, log, slis),
  };
}
