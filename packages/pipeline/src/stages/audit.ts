import { settle } from '@cluster-apiserver/base';
import type { Auditor, AuditRecorder } from '../audit.ts';
import type { ApiResponse, Handler } from '../exchange.ts';
import type { RequestInfoContext } from '../request-context.ts';
import { toStatusError, isInternal } from './error-responses.ts';
import { selectedName } from './authorize.ts';

/** Records the request and its response, including rejections. Without an auditor the stage is absent. */
export function audit(auditor: Auditor | undefined, next: Handler<RequestInfoContext>): Handler<RequestInfoContext> {
  if (!auditor) return next;
  return (context) => {
    const recorder = auditor.begin(context, context.info.resource?.name ?? selectedName(context.info));
    return settle(next, Object.assign(context, { audit: recorder }), recordResponse, recordFailure);
  };
}

type AuditedContext = RequestInfoContext & { readonly audit: AuditRecorder };

const recordResponse = (
  response: ApiResponse,
  { audit: recorder }: AuditedContext,
): ApiResponse | Promise<ApiResponse> =>
  recorder.logResponse(response.status, !isLengthKnown(response))?.then(() => response) ?? response;

async function recordFailure(error: unknown, { audit: recorder }: AuditedContext): Promise<never> {
  await recorder.logFailure(toStatusError(error), isInternal(error));
  throw error;
}

const isLengthKnown = ({ body, stream }: ApiResponse): boolean =>
  !stream && (body === undefined || body.length !== undefined);
