import {
  type Clock,
  isSampled,
  parseTraceContext,
  type Span,
  type TraceContext,
  type SpanHolder,
} from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import { mastersGroup, monitoringGroup } from '@cluster-apiserver/gates';
import type { Tracer } from '@cluster-apiserver/telemetry';
import type { ExchangeEnd } from './exchange.ts';
import { requestAttributes, spanName, type TracedRequest } from './trace-attributes.ts';

/** Adds a trace to the context of a sampled request. */
export function beginTrace(tracer: Tracer, clock: Clock, context: TracedRequest): void {
  const { request } = context;
  const traceparent = request.header('traceparent');
  const caller = (traceparent && parseTraceContext(traceparent, request.header('tracestate'))) || undefined;
  if (caller || tracer.samples()) Object.assign(context, { trace: new RequestTrace(tracer, clock, caller) });
}

/**
 * Groups whose sampling decision is followed, as in kube-apiserver. Other callers could force sampling of all their
 * requests.
 */
const trustedGroups: readonly string[] = [mastersGroup, monitoringGroup];

/**
 * The span of one request, from its first byte to its last. A caller's sampling decision counts only if the caller is
 * trusted, which is known after authentication. A request with a traceparent therefore gets its span afterwards, with
 * the original start time.
 */
export class RequestTrace implements SpanHolder {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #startMs: number;
  /** The traceparent of the request, until it is decided whether it counts. */
  readonly #caller: TraceContext | undefined;
  #request: Span | undefined;
  #authenticationMs = 0;
  #isDecided: boolean;
  #span: Span | undefined;

  /** A request without traceparent has been sampled already; otherwise the caller's groups decide. */
  constructor(tracer: Tracer, clock: Clock, caller: TraceContext | undefined) {
    this.#tracer = tracer;
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#caller = caller;
    this.#isDecided = caller === undefined;
  }

  /** The parent of spans that begin now. */
  get span(): Span | undefined {
    return this.#span;
  }

  beginAuthentication(context: TracedRequest): void {
    this.#authenticationMs = this.#clock.monotonicMs();
    if (this.#isDecided) this.#span = this.#begin(context, {}).child(authentication);
  }

  /** Ends the authentication span; `user` is undefined if authentication failed. */
  endAuthentication(context: TracedRequest, user: UserInfo | undefined, error?: unknown): void {
    this.#decide(context, user);
    const span = this.#span ?? this.#request?.child(authentication, { startMs: this.#authenticationMs });
    span?.end(error);
    this.#span = this.#request;
  }

  /** Records the status when the response is ready. A watch ends its span itself. */
  recordResponse(context: TracedRequest, status: number): void {
    // Undecided means in most cases: refused before authentication.
    this.#decide(context, undefined);
    const isDropped = this.#caller !== undefined && !this.#request;
    if (isDropped) return;
    const span = this.#request ?? this.#begin(context, {});
    span.set({ 'http.response.status_code': status });
    if (status >= serverErrorMin) span.fail(String(status));
    context.request.onEnd((end) => this.#ended(end));
  }

  /** Ends the span of a watch, whose response may go on for hours. */
  end(): void {
    this.#request?.end();
  }

  #decide(context: TracedRequest, user: UserInfo | undefined): void {
    const caller = this.#caller;
    if (this.#isDecided || !caller) return; // without a caller it was decided in the constructor
    this.#isDecided = true;
    if (user?.groups.some((group) => trustedGroups.includes(group))) {
      if (isSampled(caller)) this.#begin(context, { parent: caller });
    } else if (this.#tracer.samples()) this.#begin(context, { link: caller });
  }

  #begin(context: TracedRequest, origin: { readonly parent?: TraceContext; readonly link?: TraceContext }): Span {
    const attributes = requestAttributes(context);
    this.#request = this.#tracer.begin({ name: spanName(context), startMs: this.#startMs, attributes, ...origin });
    return this.#request;
  }

  #ended({ outcome, bodyBytes }: ExchangeEnd): void {
    this.#request?.set({ 'http.response.body.size': bodyBytes });
    if (outcome === 'aborted') this.#request?.fail(outcome);
    this.#request?.end();
  }
}

const authentication = 'authentication';
const serverErrorMin = 500;
