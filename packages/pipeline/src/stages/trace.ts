import { type Clock, parseTraceContext } from '@cluster-apiserver/base';
import type { Tracer } from '@cluster-apiserver/telemetry';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { Received } from '../facts.ts';
import { RequestTrace } from '../request-trace.ts';

/** Outermost: records requests with their answers, refusals included. Of most it finds out that they are not sampled. */
export const traceRequests =
  (tracer: Tracer | undefined, clock: Clock) =>
  (next: Handler<Received>): Handler<Received> => {
    if (!tracer) return next;
    return (facts) => {
      const { request } = facts;
      const traceparent = request.header('traceparent');
      const caller = traceparent && parseTraceContext(traceparent, request.header('tracestate'));
      if (!caller && !tracer.samples()) return next(facts);
      const trace = new RequestTrace(tracer, clock, caller || undefined);
      const answered = (response: ApiResponse): ApiResponse => {
        trace.answered(facts, response.status);
        return response;
      };
      const response = next(Object.assign(facts, { trace }));
      return response instanceof Promise ? response.then(answered) : answered(response);
    };
  };
