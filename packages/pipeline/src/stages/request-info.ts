import type { Handler } from '../exchange.ts';
import { type AuditIdContext, noWarnings, type RequestInfoContext } from '../request-context.ts';
import { parseRequestInfo } from '../request-info.ts';

/** Adds the verb, resource, namespace and name of the request. */
export const resolveRequestInfo =
  (next: Handler<RequestInfoContext>): Handler<AuditIdContext> =>
  (context) =>
    next(
      Object.assign(context, {
        info: parseRequestInfo(context.request.method, context.request.target),
        warnings: noWarnings,
      }),
    );
