import type { Auditor } from '../audit.ts';
import { type ApiResponse, type Handler, hasLength } from '../exchange.ts';
import type { Understood } from '../facts.ts';
import { asStatus, isInternal } from './answer-errors.ts';
import { selectedName } from './authorize.ts';

/** Records the request with its response, refusals included. Without an auditor there is no such stage. */
export const audit =
  (auditor: Auditor | undefined) =>
  (next: Handler<Understood>): Handler<Understood> =>
    auditor ? (facts) => record(auditor, next, facts) : next;

async function record(auditor: Auditor, next: Handler<Understood>, facts: Understood): Promise<ApiResponse> {
  const recorder = auditor.begin(facts, facts.info.resource?.name ?? selectedName(facts.info));
  let response: ApiResponse;
  try {
    response = await next(Object.assign(facts, { audit: recorder }));
  } catch (error) {
    await recorder.failed(asStatus(error), isInternal(error));
    throw error;
  }
  const recorded = recorder.responded(response.status, response.body !== undefined && !hasLength(response.body));
  if (recorded) await recorded;
  return response;
}
