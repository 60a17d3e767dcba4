import { type Clock, parseTraceContext } from '@cluster-apiserver/base';
import type { Tracer } from '@cluster-apiserver/telemetry';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { ReceivedContext } from '../request-context.ts';
import { RequestTrace } from '../request-trace.ts';

/** Outermost: records sampled requests and their responses, including rejections. */
export const traceRequests =
  (tracer: Tracer | undefined, clock: Clock) =>
  (next: Handler<ReceivedContext>): Handler<ReceivedContext> => {
    if (!tracer) return next;
    return (context) => {
      const { request } = context;
      const traceparent = request.header('traceparent');
      const caller = traceparent && parseTraceContext(traceparent, request.header('tracestate'));
      if (!caller && !tracer.samples()) return next(context);
      const trace = new RequestTrace(tracer, clock, caller || undefined);
      const onResponse = (response: ApiResponse): ApiResponse => {
        trace.recordResponse(context, response.status);
        return response;
      };
      const response = next(Object.assign(context, { trace }));
      return response instanceof Promise ? response.then(onResponse) : onResponse(response);
    };
  };
