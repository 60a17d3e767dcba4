/**
 * Tracing as far as everything between the socket and etcd knows of it: a span of a sampled request, below which each
 * stage that waits begins a span of its own. A request that is not sampled has no span at all, so it costs one look.
 */

/** W3C Trace Context, as it is passed on. */
export interface TraceContext {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span that this work is part of. */
  readonly spanId: string;
  /** Bit 0: the caller records this trace. */
  readonly flags: number;
  /** The value of `tracestate`, which is passed on as it came. */
  readonly state?: string;
}

/** A part of a sampled request. Nothing here throws or waits. */
export interface Span {
  /** For the headers of requests to others. */
  readonly context: TraceContext;
  /** Starts a span below this one. */
  child(name: string, options?: SpanOptions): Span;
  set(attributes: SpanAttributes): void;
  /** Marks it as failed, by a kind of failure such as a status code. */
  fail(type: string): void;
  /** Only the first call counts. Of an error only the name is exported: its message may repeat what was sent. */
  end(error?: unknown): void;
}

export interface SpanOptions {
  /** `client` for a request to another process; `internal` by default. */
  readonly kind?: 'internal' | 'client';
  readonly attributes?: SpanAttributes;
  /** When it began, on the monotonic clock; now by default. */
  readonly startMs?: number;
}

/** By the names of OpenTelemetry's semantic conventions where there are some. Never a secret. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

export const isSampled = ({ flags }: TraceContext): boolean => (flags & 1) === 1;

/** Does work in a span, which ends with it. */
export function endAfter<T>(span: Span, work: () => T): T {
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

/** The headers that make a request to another server a part of the trace. */
export function traceHeaders(context: TraceContext): Readonly<Record<string, string>> {
  const { traceId, spanId, flags, state } = context;
  const traceparent = `00-${traceId}-${spanId}-${flags.toString(16).padStart(2, '0')}`;
  return { traceparent, ...(state !== undefined && { tracestate: state }) };
}

/** Where a request goes. Path and query may hold secrets of that server, and are left out. */
export const serverAttributes = ({ hostname, port, protocol }: URL): SpanAttributes => ({
  'server.address': hostname,
  'server.port': port === '' ? (defaultPorts[protocol] ?? 0) : Number(port),
});

const defaultPorts: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

const traceparentForm = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** What W3C Trace Context requires to propagate; a longer `tracestate` is dropped, which it allows. */
const stateCharactersMax = 512;

/** Undefined for headers that are absent or hold nothing that could be passed on. */
export function parseTraceContext(
  traceparent: string | undefined,
  tracestate: string | undefined,
): TraceContext | undefined {
  if (traceparent === undefined) return undefined;
  const [, version = 'ff', traceId = '', spanId = '', flags = '', more] = traceparentForm.exec(traceparent) ?? [];
  // Version 00 ends with its flags, later ones may add to them, and ff is none.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  const isState = tracestate !== undefined && tracestate.length <= stateCharactersMax && /^[ -~]+$/.test(tracestate);
  return { traceId, spanId, flags: Number.parseInt(flags, 16), ...(isState && { state: tracestate }) };
}
