export { createHealth, type Endpoint, type Health } from './health.ts';
export { createLog, type Log } from './log.ts';
export { createLogOutput } from './log-output.ts';
export { createMetrics, doublingBuckets, type Metrics, secondsBuckets } from './metrics.ts';
