import { DeadlineExceededError } from '@cluster-apiserver/base';
import { StatusError } from '@cluster-apiserver/model';
import { type ApiResponse, ClientGoneError, type Handler } from '../exchange.ts';
import type { Received, Understood } from '../facts.ts';
import { errorResponse } from '../respond.ts';
import { timedOut } from './deadline.ts';

/** What is told to the log of a request that ended in an error of ours. */
export type ReportFault = (error: unknown, facts: Partial<Understood> & Received) => void;

/** Outermost: everything that is thrown below leaves as a Status here, and what is our fault is told to the log. */
export const answerErrors =
  (report: ReportFault) =>
  (next: Handler<Received>): Handler<Received> => {
    const answer = (error: unknown, facts: Received): ApiResponse => {
      const known: Partial<Understood> & Received = facts; // the stages below add their facts to the same object
      const status = asStatus(error);
      if (status.code === 500 && !status.isLogged) report(error, known);
      return errorResponse(
        facts.request,
        {
          ...(known.auditId && { auditId: known.auditId }),
          ...(known.info && { query: known.info.query }),
          ...(known.warnings && { warnings: known.warnings }),
        },
        status,
      );
    };
    return (facts) => {
      try {
        const response = next(facts);
        return response instanceof Promise ? response.catch((error: unknown) => answer(error, facts)) : response;
      } catch (error) {
        return answer(error, facts);
      }
    };
  };

/** Whether an error was not meant as a response. */
export const isInternal = (error: unknown): boolean =>
  !(error instanceof StatusError || error instanceof DeadlineExceededError || error instanceof ClientGoneError);

/** What a client is told of an error: of one that is no answer, nothing but that it was ours. */
export function asStatus(error: unknown): StatusError {
  if (error instanceof StatusError) return error;
  if (error instanceof DeadlineExceededError) return timedOut(error);
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
