import type { OpenTracer, TracerOptions } from './tracer.ts';

/** Loads OpenTelemetry only if tracing is configured: it takes memory and time. */
export const openTracer = async (options: TracerOptions): Promise<OpenTracer> =>
  (await import('./open-telemetry.ts')).openTelemetryTracer(options);
