import type { Auditor, AuditRecorder } from '../audit.ts';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { RequestInfoContext } from '../request-context.ts';
import { toStatusError, isInternal } from './error-responses.ts';
import { selectedName } from './authorize.ts';

/** Records the request and its response, including rejections. Without an auditor the stage is absent. */
export const audit =
  (auditor: Auditor | undefined) =>
  (next: Handler<RequestInfoContext>): Handler<RequestInfoContext> => {
    if (!auditor) return next;
    return (context) => {
      const recorder = auditor.begin(context, context.info.resource?.name ?? selectedName(context.info));
      let response: ApiResponse | Promise<ApiResponse>;
      try {
        response = next(Object.assign(context, { audit: recorder }));
      } catch (error) {
        return recordFailure(recorder, error);
      }
      return response instanceof Promise
        ? response.then(
            (late) => recordResponse(recorder, late),
            (error: unknown) => recordFailure(recorder, error),
          )
        : recordResponse(recorder, response);
    };
  };

function recordResponse(recorder: AuditRecorder, response: ApiResponse): ApiResponse | Promise<ApiResponse> {
  const recorded = recorder.logResponse(response.status, !isLengthKnown(response));
  return recorded ? recorded.then(() => response) : response;
}

const isLengthKnown = ({ body, stream }: ApiResponse): boolean =>
  !stream && (body === undefined || body.length !== undefined);

async function recordFailure(recorder: AuditRecorder, error: unknown): Promise<never> {
  await recorder.logFailure(toStatusError(error), isInternal(error));
  throw error;
}
