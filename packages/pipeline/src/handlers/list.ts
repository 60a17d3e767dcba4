import { list, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateList, requireListForm } from '../encoding/negotiate.ts';
import { readListParameters } from '../query-parameters.ts';
import { listResponse } from '../responses.ts';
import { withTimeoutSeconds } from '../stages/deadline.ts';

export const listHandler =
  (resource: Resource): Handler<AuthenticatedContext> =>
  async (context) => {
    const format = negotiateList(context, resource.served);
    const options = readListParameters(resource, context);
    const found = await withTimeoutSeconds(options.timeoutSeconds, context.call, resource.clock, (call) =>
      list(resource, options, call),
    );
    requireListForm(format, resource.served);
    const { trace } = context.call;
    if (!trace) return listResponse(context, resource, format, found);
    // A list is encoded while it is sent, so its span ends with the last byte.
    const span = trace.child('encode list', { attributes: { 'apiserver.list.items': found.items.length } });
    context.request.onEnd(() => span.end());
    return listResponse(context, resource, format, found);
  };
