export { createHealth, type Endpoint, type Health } from './health.ts';
export { createLog, type Log, type Omission } from './log.ts';
export type { LogFields } from './log-line.ts';
export { type ByteOutput, createLogOutput } from './log-output.ts';
export { createMetrics, doublingBuckets, type Metrics, secondsBuckets } from './metrics.ts';
