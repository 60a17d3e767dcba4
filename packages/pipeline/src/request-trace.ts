import { type Clock, isSampled, type Span, type TraceContext, type Traced } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import { mastersGroup, monitoringGroup } from '@cluster-apiserver/gates';
import type { Tracer } from '@cluster-apiserver/telemetry';
import type { ExchangeEnd } from './exchange.ts';
import type { ReceivedContext, RequestInfoContext } from './request-context.ts';
import { requestAttributes, spanName } from './trace-attributes.ts';

/** As in kube-apiserver: callers whose sampling decision is followed. Others could force all their requests to be sampled. */
const trustedGroups: readonly string[] = [mastersGroup, monitoringGroup];

/**
 * The span of one request, from its first byte to its last. Whether the caller decides about recording is known when he
 * is known, so a request that comes with a trace has no span before that, and gets it later with its own times.
 */
export class RequestTrace implements Traced {
  readonly #tracer: Tracer;
  readonly #clock: Clock;
  readonly #startMs: number;
  /** What the caller sent, until it is decided whether it counts. */
  readonly #caller: TraceContext | undefined;
  #request: Span | undefined;
  #authenticationMs = 0;
  #isDecided: boolean;
  #span: Span | undefined;

  /** Without a trace of the caller's the request is sampled; else it depends on who he is. */
  constructor(tracer: Tracer, clock: Clock, caller: TraceContext | undefined) {
    this.#tracer = tracer;
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#caller = caller;
    this.#isDecided = caller === undefined;
  }

  /** What the work at hand is part of. */
  get span(): Span | undefined {
    return this.#span;
  }

  beginAuthentication(context: RequestInfoContext): void {
    this.#authenticationMs = this.#clock.monotonicMs();
    if (this.#isDecided) this.#span = this.#begin(context, {}).child(authentication);
  }

  /** Ends the span of authentication; `user` is undefined if it failed. */
  endAuthentication(context: RequestInfoContext, user: UserInfo | undefined, error?: unknown): void {
    this.#decide(context, user);
    const span = this.#span ?? this.#request?.child(authentication, { startMs: this.#authenticationMs });
    span?.end(error);
    this.#span = this.#request;
  }

  /** The answer is ready. A stream says by itself when its span ends. */
  recordResponse(context: Partial<RequestInfoContext> & ReceivedContext, status: number): void {
    // Most that comes here undecided was refused before authentication.
    this.#decide(context, undefined);
    const isDropped = this.#caller !== undefined && !this.#request;
    if (isDropped) return;
    const span = this.#request ?? this.#begin(context, {});
    span.set({ 'http.response.status_code': status });
    if (status >= serverErrorMin) span.fail(String(status));
    // The end of a request is not reported again to later listeners.
    if (context.request.isAborted) this.#ended({ outcome: 'aborted', bodyBytes: 0 });
    else context.request.onEnd((end) => this.#ended(end));
  }

  /** Ends the span before the response, which goes on for long. */
  end(): void {
    this.#request?.end();
  }

  #decide(context: Partial<RequestInfoContext> & ReceivedContext, user: UserInfo | undefined): void {
    if (this.#isDecided) return;
    this.#isDecided = true;
    const caller = this.#caller as TraceContext; // decided from the beginning where there is none
    if (user?.groups.some((group) => trustedGroups.includes(group))) {
      if (isSampled(caller)) this.#begin(context, { parent: caller });
    } else if (this.#tracer.samples()) this.#begin(context, { link: caller });
  }

  #begin(
    context: Partial<RequestInfoContext> & ReceivedContext,
    origin: { readonly parent?: TraceContext; readonly link?: TraceContext },
  ): Span {
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
