export type { DeclaredMetric } from './declared-metric.ts';
export { createHealth, type Endpoint, type Health } from './health.ts';
export { createLog, type Log, type Omission } from './log.ts';
export type { LogFields } from './log-line.ts';
export { type ByteOutput, LogOutput } from './log-output.ts';
export type { ExpositionFormat } from './exposition.ts';
export {
  createMetrics,
  createDoublingBuckets,
  type Exposition,
  type Metrics,
  type Observe,
  secondsBuckets,
  type Counter,
  type Histogram,
} from './metrics.ts';
export { createOutages, type OutageMessages, type Outages } from './outages.ts';
export { openTracer } from './open-tracer.ts';
export type { DropReason, OpenTracer, RequestSpan, Tracer, TracerMeasures } from './tracer.ts';
