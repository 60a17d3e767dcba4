import { type Clock, settle } from '@cluster-apiserver/base';
import type { Tracer } from '@cluster-apiserver/telemetry';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { ReceivedContext, RequestInfoContext } from '../request-context.ts';
import { beginTrace } from '../request-trace.ts';
import { errorResponse } from '../responses.ts';
import { type AllowedOrigin, allowsPage, shareWithPage } from './cross-origin.ts';
import { toStatusError } from './error-responses.ts';
import { logResponse, type RequestLog } from './log-requests.ts';
import { recordResponse } from './measure.ts';
import type { Measures } from './request-measures.ts';

export interface AnswerOptions {
  readonly clock: Clock;
  readonly allowedOrigin: AllowedOrigin;
  readonly measures: Measures;
  readonly requestLog: RequestLog;
  /** Undefined if tracing is disabled. */
  readonly tracer?: Tracer | undefined;
  readonly report: ReportFault;
}

/** Names the FlowSchema and the priority level of the request, as upstream does. */
function withFlow(response: ApiResponse, { flow }: ReceivedContext): ApiResponse {
  return flow?.headers ? { ...response, headers: { ...response.headers, ...flow.headers } } : response;
}

/** Logs the internal error that ended a request. */
export type ReportFault = (error: unknown, context: Partial<RequestInfoContext> & ReceivedContext) => void;

/**
 * Outermost: every request leaves here with a response, that of the later stages or one for their error. In the same step it
 * is measured, logged and traced.
 */
export function answer(options: AnswerOptions, next: Handler<ReceivedContext>): Handler<ReceivedContext> {
  const { allowedOrigin, clock, measures, report, requestLog, tracer } = options;
  const ready = (made: ApiResponse, context: ReceivedContext): ApiResponse => {
    const response = shareWithPage(withFlow(made, context), context.request, allowedOrigin);
    recordResponse(measures, context, response);
    logResponse(requestLog, context, response);
    context.trace?.recordResponse(context, response.status);
    return response;
  };
  const failed = (error: unknown, context: ReceivedContext): ApiResponse => {
    const status = toStatusError(error);
    if (status.code === 500 && !status.isLogged) report(error, context);
    return ready(errorResponse(context, status), context);
  };
  return (context) => {
    if (tracer) beginTrace(tracer, clock, context);
    const { request } = context;
    // A preflight request carries no credentials.
    if (request.method === 'OPTIONS' && allowsPage(request, allowedOrigin))
      return ready({ status: 204, headers: {} }, context);
    return settle(next, context, ready, failed);
  };
}
