import type { Clock, Random, Span, SpanAttributes, TraceContext } from '@cluster-apiserver/base';

/** What begins the spans of requests that are sampled. */
export interface Tracer {
  /** Draws whether to sample a request that has no parent. */
  samples(): boolean;
  begin(request: RequestSpan): Span;
}

export interface RequestSpan {
  readonly name: string;
  /** When it began, on the monotonic clock. */
  readonly startMs: number;
  readonly attributes: SpanAttributes;
  /** The span of a trusted caller; the request becomes a part of that trace. */
  readonly parent?: TraceContext | undefined;
  /** The span of any other caller: linked from a trace of our own. */
  readonly link?: TraceContext | undefined;
}

export interface TracerOptions {
  /** An address of gRPC: `host:port`, or `unix://` and a socket. */
  readonly address: string;
  /** Of a million requests. */
  readonly samplingRatePerMillion: number;
  /** Attributes of this process, such as `service.name`. */
  readonly resource: SpanAttributes;
  readonly clock: Clock;
  readonly random: Random;
  readonly measures: TracerMeasures;
  /** The receiver gave no answer or a bad one; undefined when it takes spans again. */
  readonly exported: (error: Error | undefined) => void;
}

export type DropReason = 'queue_full' | 'export_failed';

export interface TracerMeasures {
  exported(spans: number): void;
  dropped(reason: DropReason, spans: number): void;
}

/** Sends what has ended, and closes. */
export interface OpenTracer extends Tracer {
  close(): Promise<void>;
}

/** OpenTelemetry is loaded where there is something to trace, and nowhere else: it takes memory and time. */
export const openTracer = async (options: TracerOptions): Promise<OpenTracer> =>
  (await import('./open-telemetry.ts')).openTelemetryTracer(options);
