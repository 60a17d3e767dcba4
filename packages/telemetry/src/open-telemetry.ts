/**
 * The only file that uses the OpenTelemetry SDK. It registers itself for the process, which has one tracer at a time; spans are
 * passed as arguments nevertheless.
 */
import {
  context as contexts,
  createTraceState,
  type ContextManager,
  type HrTime,
  logs,
  ROOT_CONTEXT,
  type Span as SdkSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer as SdkTracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-grpc';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { AlwaysOnSampler } from '@opentelemetry/sdk-trace';
import { credentials } from '@grpc/grpc-js';
import {
  type Clock,
  keepText,
  type Random,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  type TraceContext,
} from '@cluster-apiserver/base';
import { createBoundedProcessor } from './bounded-processor.ts';
import { createReconnectingExporter } from './reconnecting-exporter.ts';
import type { OpenTracer, RequestSpan, TracerOptions } from './tracer.ts';

const million = 1_000_000;

/** Timeout of the export of a batch. */
const exportTimeoutMs = 10_000;

/** Maximum time to flush at shutdown. */
const closeMsMax = 2_000;

/** Clients choose some names and values, such as paths; longer ones are truncated. */
const attributeCharactersMax = 512;

/** A span waits for its batch longer than the request lasts, so it must not hold texts of the request. */
const keepAttributes = (attributes: SpanAttributes): SpanAttributes =>
  Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [
      name,
      typeof value === 'string' ? keepText(value, attributeCharactersMax) : value,
    ]),
  );

export function openTelemetryTracer(options: TracerOptions): OpenTracer {
  const { address, samplingRatePerMillion, resource, clock, random, measures, exported } = options;
  const openExporter = (): OTLPTraceExporter =>
    new OTLPTraceExporter({
      url: address.includes('://') ? address : `http://${address}`,
      credentials: credentials.createInsecure(),
      timeoutMillis: exportTimeoutMs,
    });
  const exporter = createReconnectingExporter(openExporter);
  const sdk = new NodeSDK({
    resource: resourceFromAttributes(resource),
    // The resource is complete, and nothing is detected of the machine.
    autoDetectResources: false,
    // Only sampled requests create spans.
    sampler: new AlwaysOnSampler(),
    idGenerator: createIdGenerator(random),
    spanProcessors: [createBoundedProcessor(exporter, measures, exported)],
    // Trace contexts are read and written by the pipeline, and passed on in calls.
    contextManager: noContexts,
    textMapPropagator: null,
    // Metrics and logs have their own ways out of the process.
    metricReaders: [],
    logRecordProcessors: [],
    instrumentations: [],
  });
  sdk.start();
  const tracer = trace.getTracer('cluster-apiserver');
  return {
    samples: () => samplingRatePerMillion > 0 && random.below(million) < samplingRatePerMillion,
    begin: (request) => beginRequest(tracer, clock, request),
    close: async () => {
      // Spans that cannot be sent are counted as dropped.
      const flushed = sdk.shutdown().catch(() => {});
      let cancel = (): void => {};
      await Promise.race([
        flushed,
        new Promise<void>((resolve) => {
          cancel = clock.after(closeMsMax, resolve);
        }),
      ]);
      cancel();
      // The next tracer of the process can register.
      trace.disable();
      contexts.disable();
      logs.disable();
    },
  };
}

/** Instead of the SDK's, which follows each asynchronous step of the process by an AsyncLocalStorage. */
const noContexts: ContextManager = {
  active: () => ROOT_CONTEXT,
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the interface leaves it out only if the work needs none
  with: (_, work, receiver, ...args) => work.call(receiver as ThisParameterType<typeof work>, ...args),
  bind: (_, target) => target,
  enable: () => noContexts,
  disable: () => noContexts,
};

const traceIdBytes = 16;
const spanIdBytes = 8;

const createIdGenerator = (random: Random) => ({
  generateTraceId: () => random.bytes(traceIdBytes).toString('hex'),
  generateSpanId: () => random.bytes(spanIdBytes).toString('hex'),
});

function beginRequest(tracer: SdkTracer, clock: Clock, { name, startMs, attributes, parent, link }: RequestSpan): Span {
  const context = parent ? trace.setSpanContext(ROOT_CONTEXT, toSdkContext(parent)) : ROOT_CONTEXT;
  const times = { clock, epochMs: clock.now() - clock.monotonicMs() };
  const span = tracer.startSpan(
    keepText(name, attributeCharactersMax),
    {
      kind: SpanKind.SERVER,
      startTime: toHrTime(times, startMs),
      attributes: keepAttributes(attributes),
      ...(link && { links: [{ context: toSdkContext(link) }] }),
    },
    context,
  );
  return new RecordedSpan(tracer, times, span, parent?.state);
}

/** The parts are copied: headers may be long. */
const toSdkContext = ({ traceId, spanId, flags, state }: TraceContext): SpanContext => ({
  traceId: keepText(traceId),
  spanId: keepText(spanId),
  traceFlags: flags,
  isRemote: true,
  ...(state !== undefined && { traceState: createTraceState(keepText(state)) }),
});

/** All spans of a request use one offset to wall time, so that a jump of the wall clock changes no duration. */
interface Times {
  readonly clock: Clock;
  /** Wall time when the monotonic clock was 0. */
  readonly epochMs: number;
}

const nanosPerMs = 1_000_000;

function toHrTime({ epochMs }: Times, monotonicMs: number): HrTime {
  const ms = epochMs + monotonicMs;
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.floor((ms - seconds * 1000) * nanosPerMs)];
}

class RecordedSpan implements Span {
  readonly #tracer: SdkTracer;
  readonly #times: Times;
  readonly #span: SdkSpan;
  readonly #state: string | undefined;
  #hasEnded = false;

  constructor(tracer: SdkTracer, times: Times, span: SdkSpan, state: string | undefined) {
    this.#tracer = tracer;
    this.#times = times;
    this.#span = span;
    this.#state = state;
  }

  get context(): TraceContext {
    const { traceId, spanId, traceFlags } = this.#span.spanContext();
    return { traceId, spanId, flags: traceFlags, ...(this.#state !== undefined && { state: this.#state }) };
  }

  child(name: string, { kind, attributes, startMs }: SpanOptions = {}): Span {
    const span = this.#tracer.startSpan(
      name,
      {
        kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
        startTime: toHrTime(this.#times, startMs ?? this.#times.clock.monotonicMs()),
        ...(attributes && { attributes: keepAttributes(attributes) }),
      },
      trace.setSpan(ROOT_CONTEXT, this.#span),
    );
    return new RecordedSpan(this.#tracer, this.#times, span, this.#state);
  }

  set(attributes: SpanAttributes): void {
    if (!this.#hasEnded) this.#span.setAttributes(keepAttributes(attributes));
  }

  fail(type: string): void {
    if (this.#hasEnded) return;
    this.#span.setAttribute('error.type', type);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(error?: unknown): void {
    if (this.#hasEnded) return;
    if (error !== undefined) this.fail(error instanceof Error ? error.name : typeof error);
    this.#hasEnded = true;
    this.#span.end(toHrTime(this.#times, this.#times.clock.monotonicMs()));
  }
}
