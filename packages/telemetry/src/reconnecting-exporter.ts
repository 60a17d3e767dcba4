import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { SpanExporter } from '@opentelemetry/sdk-trace';

/**
 * Opens a new connection after a failed export. A gRPC connection waits up to two minutes between attempts to connect, and
 * the exporter has no option for it: a collector that is back would wait for the spans that long. Batches are rare enough
 * for an attempt each.
 */
export function createReconnectingExporter(open: () => SpanExporter): SpanExporter {
  let current = open();
  return {
    export: (spans, done) => {
      const used = current;
      used.export(spans, (result: ExportResult) => {
        // Concurrent exports fail together.
        if (result.code !== ExportResultCode.SUCCESS && used === current) {
          current = open();
          used.shutdown().catch(() => {}); // it has failed already
        }
        done(result);
      });
    },
    shutdown: () => current.shutdown(),
  };
}
