import type { Auditor } from '../audit.ts';
import { type ApiResponse, type Handler, isSized } from '../exchange.ts';
import type { RequestInfoContext } from '../request-context.ts';
import { toStatusError, isInternal } from './error-responses.ts';
import { selectedName } from './authorize.ts';

/** Records the request and its response, including rejections. Without an auditor the stage is absent. */
export const audit =
  (auditor: Auditor | undefined) =>
  (next: Handler<RequestInfoContext>): Handler<RequestInfoContext> =>
    auditor ? (context) => record(auditor, next, context) : next;

async function record(
  auditor: Auditor,
  next: Handler<RequestInfoContext>,
  context: RequestInfoContext,
): Promise<ApiResponse> {
  const recorder = auditor.begin(context, context.info.resource?.name ?? selectedName(context.info));
  let response: ApiResponse;
  try {
    response = await next(Object.assign(context, { audit: recorder }));
  } catch (error) {
    await recorder.logFailure(toStatusError(error), isInternal(error));
    throw error;
  }
  const recorded = recorder.logResponse(response.status, response.body !== undefined && !isSized(response.body));
  if (recorded) await recorded;
  return response;
}
