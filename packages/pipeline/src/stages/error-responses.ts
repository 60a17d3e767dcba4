import { DeadlineExceededError } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { type ApiResponse, ClientGoneError, type Handler } from '../exchange.ts';
import type { ReceivedContext, RequestInfoContext } from '../request-context.ts';
import { errorResponse } from '../responses.ts';
import { timeoutError } from './deadline.ts';

/** What is told to the log of a request that ended in an error of ours. */
export type ReportFault = (error: unknown, context: Partial<RequestInfoContext> & ReceivedContext) => void;

/** Outermost: everything that is thrown below leaves as a Status here, and what is our fault is told to the log. */
export const respondToErrors =
  (report: ReportFault) =>
  (next: Handler<ReceivedContext>): Handler<ReceivedContext> => {
    const answer = (error: unknown, context: ReceivedContext): ApiResponse => {
      const known: Partial<RequestInfoContext> & ReceivedContext = context; // the stages below add their context to the same object
      const status = toStatusError(error);
      if (status.code === 500) report(error, known);
      return errorResponse(
        context.request,
        {
          ...(known.auditId && { auditId: known.auditId }),
          ...(known.info && { query: known.info.query }),
          ...(known.warnings && { warnings: known.warnings }),
        },
        status,
      );
    };
    return (context) => {
      try {
        const response = next(context);
        return response instanceof Promise ? response.catch((error: unknown) => answer(error, context)) : response;
      } catch (error) {
        return answer(error, context);
      }
    };
  };

/** Whether an error was not meant as a response. */
export const isInternal = (error: unknown): boolean =>
  !(error instanceof StatusError || error instanceof DeadlineExceededError || error instanceof ClientGoneError);

/** What a client is told of an error: of one that is no answer, nothing but that it was ours. */
export function toStatusError(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof DeadlineExceededError) return timeoutError(error);
  if (error instanceof ClientGoneError) return clientGone;
  return new StatusError('InternalError', 'Internal error occurred', undefined, { cause: error });
}

/**
 * Read only by a client that has shut its side of the connection and still waits: its work ends like that of any other.
 * One for all, because a client may leave with a hundred requests open and each stack would have to be written down.
 */
const clientGone = new StatusError(
  'Timeout',
  'the client closed its side of the connection before the response was ready',
  {},
);
