import { DeadlineExceededError } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { toStatusError as storageErrorStatus } from '@cluster-apiserver/registry';
import { type ApiResponse, ClientGoneError, type Handler } from '../exchange.ts';
import type { ReceivedContext, RequestInfoContext } from '../request-context.ts';
import { errorResponse } from '../responses.ts';
import { timeoutError } from './deadline.ts';

/** Logs the internal error that ended a request. */
export type ReportFault = (error: unknown, context: Partial<RequestInfoContext> & ReceivedContext) => void;

/** Turns errors of later stages into Status responses, and reports internal errors. */
export const respondToErrors =
  (report: ReportFault) =>
  (next: Handler<ReceivedContext>): Handler<ReceivedContext> => {
    const toResponse = (error: unknown, context: ReceivedContext): ApiResponse => {
      const known: Partial<RequestInfoContext> & ReceivedContext = context; // later stages add their fields to the same object
      const status = toStatusError(error);
      if (status.code === 500 && !status.isLogged) report(error, known);
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
        return response instanceof Promise ? response.catch((error: unknown) => toResponse(error, context)) : response;
      } catch (error) {
        return toResponse(error, context);
      }
    };
  };

/** Whether the error was not meant as a response. */
export const isInternal = (error: unknown): boolean => knownStatus(error) === undefined;

/** The Status for a client. It reveals nothing of an internal error. */
export const toStatusError = (error: unknown): StatusError =>
  knownStatus(error) ?? new StatusError('InternalError', 'Internal error occurred', undefined, { cause: error });

function knownStatus(error: unknown): StatusError | undefined {
  if (error instanceof DeadlineExceededError) return timeoutError(error);
  if (error instanceof ClientGoneError) return clientGone;
  // Stages read stored objects, too, such as the account of a token.
  const status = storageErrorStatus(error);
  return status instanceof StatusError ? status : undefined;
}

/**
 * Only a client that half-closed its connection reads this. A single instance, because a client may leave with a
 * hundred open requests and each stack trace would have to be built.
 */
const clientGone = new StatusError(
  'Timeout',
  'the client closed its side of the connection before the response was ready',
  {},
);
