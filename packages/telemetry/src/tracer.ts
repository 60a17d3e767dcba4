import type { Clock, Random, Span, SpanAttributes, TraceContext } from '@cluster-apiserver/base';

/** Starts the spans of sampled requests. */
export interface Tracer {
  /** Decides at random whether to sample a request without a parent span. */
  samples(): boolean;
  begin(request: RequestSpan): Span;
}

export interface RequestSpan {
  readonly name: string;
  /** Start on the monotonic clock. */
  readonly startMs: number;
  readonly attributes: SpanAttributes;
  /** The span of a trusted client; the request becomes a part of its trace. */
  readonly parent?: TraceContext | undefined;
  /** The span of any other client: linked from a new trace. */
  readonly link?: TraceContext | undefined;
}

export interface TracerOptions {
  /** A gRPC address: `host:port`, or `unix://` and a socket. */
  readonly address: string;
  /** Sampled requests per million. */
  readonly samplingRatePerMillion: number;
  /** Attributes of this process, such as `service.name`. */
  readonly resource: SpanAttributes;
  readonly clock: Clock;
  readonly random: Random;
  readonly measures: TracerMeasures;
  /** Called after each export, with the error if it failed. */
  readonly exported: (error: Error | undefined) => void;
}

export type DropReason = 'queue_full' | 'export_failed';

export interface TracerMeasures {
  exported(spans: number): void;
  dropped(reason: DropReason, spans: number): void;
}

/** `close` exports the ended spans first. */
export interface OpenTracer extends Tracer {
  close(): Promise<void>;
}
