import type { Random } from '@cluster-apiserver/base';
import type { Handler } from '../exchange.ts';
import { noWarnings, type ReceivedContext, type RequestInfoContext } from '../request-context.ts';
import { parseRequestInfo } from '../request-info.ts';

/** Other audit IDs of clients are replaced. */
const auditIdForm = /^[A-Za-z0-9._:-]{1,64}$/;

/**
 * Says what is requested: verb, resource, namespace and name, and the audit ID, which responses, logs and traces carry. Clients
 * may send their own.
 */
export const identify =
  (random: Random, next: Handler<RequestInfoContext>): Handler<ReceivedContext> =>
  (context) => {
    const { request } = context;
    const sentId = request.header('audit-id');
    return next(
      Object.assign(context, {
        auditId: sentId !== undefined && auditIdForm.test(sentId) ? sentId : random.uuid(),
        info: parseRequestInfo(request.method, request.target),
        warnings: noWarnings,
      }),
    );
  };
