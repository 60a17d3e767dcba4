/**
 * The tracing interface for all code between the socket and etcd. A sampled request has a span, and each stage that waits
 * starts a child span. A request that is not sampled has no span, so it costs one check.
 */

/** W3C Trace Context, as it is propagated. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span that this work belongs to. */
  readonly spanId: string;
  /** Bit 0: the caller records this trace. */
  readonly flags: number;
  /** The value of `tracestate`, which is propagated unchanged. */
  readonly state?: string;
}

/** A span of a sampled request. Its methods neither throw nor wait. */
export interface Span {
  /** For the headers of outgoing requests. */
  readonly context: TraceContext;
  /** Starts a child span. */
  child(name: string, options?: SpanOptions): Span;
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed, with an error type such as a status code. */
  fail(type: string): void;
  /** Only the first call counts. Only the error's name is exported: its message may quote the request. */
  end(error?: unknown): void;
}

export interface SpanOptions {
  /** `client` for a request to another process; `internal` by default. */
  readonly kind?: 'internal' | 'client';
  readonly attributes?: SpanAttributes;
  /** Start time on the monotonic clock; now by default. */
  readonly startMs?: number;
}

/** Named by OpenTelemetry's semantic conventions where they exist. Never a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export const isSampled = ({ flags }: TraceContext): boolean => (flags & 1) === 1;

/** Runs work in a span, and ends the span with it. */
export function runInSpan<T>(span: Span, work: () => T): T {
  try {
    const result = work();
    if (result instanceof Promise)
      result.then(
        () => span.end(),
        (error: unknown) => span.end(error),
      );
    else span.end();
    return result;
  } catch (error) {
    span.end(error);
    throw error;
  }
}

/** The headers that propagate a trace to another server. */
export function traceHeaders(context: TraceContext): Readonly<Record<string, string>> {
  const { traceId, spanId, flags, state } = context;
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
  return { traceparent, ...(state !== undefined && { tracestate: state }) };
}

/** The destination of a request. Path and query may hold secrets of that server, so they are omitted. */
export const serverAttributes = ({ hostname, port, protocol }: URL): SpanAttributes => ({
  'server.address': hostname,
  'server.port': port === '' ? (defaultPorts[protocol] ?? 0) : Number(port),
});

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

const traceparentPattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** W3C Trace Context requires propagating this many characters, and allows dropping a longer `tracestate`. */
const stateCharactersMax = 512;

/** Undefined if the headers are absent or invalid. */
export function parseTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const [, version = 'ff', traceId = '', spanId = '', flags = '', more] = traceparentPattern.exec(traceparent) ?? [];
  // Version 00 ends after the flags, later versions may append fields, and ff is invalid.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const isState = tracestate !== undefined && tracestate.length <= stateCharactersMax && /^[ -~]+$/.test(tracestate);
  return { traceId, spanId, flags: Number.parseInt(flags, 16), ...(isState && { state: tracestate }) };
}
