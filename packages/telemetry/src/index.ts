export { createHealth, type Endpoint, type Health } from './health.ts';
export { createLog, type Log, type Omission } from './log.ts';
export type { LogFields } from './log-line.ts';
export { type ByteOutput, createLogOutput } from './log-output.ts';
export type { ExpositionFormat } from './exposition.ts';
export {
  createMetrics,
  type DeclaredMetric,
  createDoublingBuckets,
  type Exposition,
  type Metrics,
  type Observe,
  secondsBuckets,
} from './metrics.ts';
export {
  type DropReason,
  type OpenTracer,
  openTracer,
  type RequestSpan,
  type Tracer,
  type TracerMeasures,
} from './tracer.ts';
