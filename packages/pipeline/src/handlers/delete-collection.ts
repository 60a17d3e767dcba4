import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteCollection, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateList, negotiateObject, requireListForm } from '../encoding/negotiate.ts';
import { readListParameters, requireSupportedSelector } from '../query-parameters.ts';
import { listResponse, statusResponse } from '../responses.ts';
import { withTimeoutSeconds } from '../stages/deadline.ts';
import { readDeletion } from './deletion.ts';
import type { WriteChecks } from './requester.ts';

export const deleteCollectionHandler =
  (
    resource: Resource,
    checks: WriteChecks,
    workers: number,
    unsafeAuthorizer: Authorizer | undefined,
  ): Handler<AuthenticatedContext> =>
  async (context) => {
    const isCounted = resource.kind.deletedCollectionAnswer === 'status';
    const format = (isCounted ? negotiateObject : negotiateList)(context, resource.served);
    if (!isCounted) requireListForm(format, resource.served);
    requireSupportedSelector(resource, context);
    const list = readListParameters(resource, context);
    const deletion = await readDeletion(context, checks, unsafeAuthorizer);
    const { status, listed } = await withTimeoutSeconds(list.timeoutSeconds, context.call, resource.clock, (call) =>
      deleteCollection(resource, { list, delete: deletion, workers }, call),
    );
    if (isCounted) return statusResponse(context, format, 200, status);
    // Objects that cannot be read cannot be shown, only counted.
    if (deletion.ignoreReadErrors) return statusResponse(context, { encoding: format.encoding }, 200, status);
    return listResponse(context, resource, format, listed);
  };
