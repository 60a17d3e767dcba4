import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import type { TracerMeasures } from './tracer.ts';

/** Spans that wait for the receiver or are on their way to it, about two kilobytes each. */
const spansMax = 2048;
/** What is sent together, and how long the first of them waits. */
const batchSpansMax = 512;
const batchDelayMs = 1_000;

/**
 * Batches on their way to a receiver. One that is slow or away costs neither time nor more memory than this: what comes
 * while there is no room is dropped and counted, and so is what was sent in vain.
 */
export function createBoundedProcessor(
  exporter: SpanExporter,
  measures: TracerMeasures,
  exported: (error: Error | undefined) => void,
): SpanProcessor {
  let pending = 0;
  const batches = new BatchSpanProcessor({
    exporter: {
      export: (spans, done) =>
        exporter.export(spans, (result: ExportResult) => {
          pending -= spans.length;
          const isTaken = result.code === ExportResultCode.SUCCESS;
          if (isTaken) measures.exported(spans.length);
          else measures.dropped('export_failed', spans.length);
          exported(isTaken ? undefined : (result.error ?? new Error('the receiver refused the spans')));
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: spansMax,
    maxExportBatchSize: batchSpansMax,
    scheduledDelayMillis: batchDelayMs,
  });
  return {
    onStart: () => {},
    onEnd: (span) => {
      if (pending >= spansMax) return measures.dropped('queue_full', 1);
      pending++;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  };
}
