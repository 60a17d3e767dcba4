import type { Random } from '@cluster-apiserver/base';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { Handler } from '../exchange.ts';
import { noWarnings, type ReceivedContext, type RequestInfoContext } from '../request-context.ts';
import { parseRequestInfo } from '../request-info.ts';

/** Other audit IDs of clients are replaced. */
const auditIdForm = /^[A-Za-z0-9._:-]{1,64}$/;

/** Finds the kind of a path; undefined if it is not served. */
export type FindServed = (resource: Pick<ServedKind, 'group' | 'version' | 'plural'>) => ServedKind | undefined;

/**
 * Says what is requested: verb, resource with its kind, namespace and name, and the audit ID, which responses, logs and traces carry. Clients
 * may send their own.
 */
export const identify =
  (random: Random, find: FindServed, next: Handler<RequestInfoContext>): Handler<ReceivedContext> =>
  (context) => {
    const { request } = context;
    const sentId = request.header('audit-id');
    const info = parseRequestInfo(request.method, request.target);
    return next(
      Object.assign(context, {
        auditId: sentId !== undefined && auditIdForm.test(sentId) ? sentId : random.uuid(),
        info,
        served: info.resource && find(info.resource),
        warnings: noWarnings,
      }),
    );
  };
