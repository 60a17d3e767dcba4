import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import { BatchSpanProcessor, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import type { TracerMeasures } from './tracer.ts';

/** Maximum number of spans that wait or are being exported, about two kilobytes each. */
const spansMax = 2048;
/** Maximum size and delay of a batch. */
const batchSpansMax = 512;
const batchDelayMs = 1_000;

/**
 * Exports spans in batches with bounded memory. If the collector is slow or unreachable, spans are dropped and counted.
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
