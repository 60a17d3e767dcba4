import type { Auditor } from '../audit.ts';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { Understood } from '../facts.ts';
import { asStatus } from './answer-errors.ts';

/** Records the request with its response, refusals included. Without an auditor there is no such stage. */
export const audit =
  (auditor: Auditor | undefined) =>
  (next: Handler<Understood>): Handler<Understood> =>
    auditor ? (facts) => recorded(auditor, next, facts) : next;

async function recorded(auditor: Auditor, next: Handler<Understood>, facts: Understood): Promise<ApiResponse> {
  const recorder = auditor.begin(facts);
  if (!recorder) return next(facts);
  try {
    const response = await next(Object.assign(facts, { audit: recorder }));
    recorder.responded(response, undefined);
    return response;
  } catch (error) {
    recorder.responded({ status: asStatus(error).code }, error);
    throw error;
  }
}
