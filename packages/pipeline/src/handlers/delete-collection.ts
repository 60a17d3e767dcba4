import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteCollection, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateList, negotiateObject } from '../encoding/negotiate.ts';
import { readListParameters, requireSupportedSelector } from '../query-parameters.ts';
import { listResponse, statusResponse } from '../responses.ts';
import { withTimeoutSeconds } from '../stages/deadline.ts';
import { readDeleteParameters } from './delete-parameters.ts';
import { toOperationOptions, createRequester, type WriteChecks } from './requester.ts';
import { authorizeUnsafeDeletion } from './unsafe-deletion.ts';

/** `unsafeDeletionAuthorizer` is undefined if unsafe deletion is disabled. */
export const deleteCollectionHandler =
  (
    resource: Resource,
    checks: WriteChecks,
    workers: number,
    mayDeleteUnreadable: Authorizer | undefined,
  ): Handler<AuthenticatedContext> =>
  async (context) => {
    const isCounted = resource.kind.deletedCollectionAnswer === 'status';
    const format = (isCounted ? negotiateObject : negotiateList)(context, resource.served);
    requireSupportedSelector(resource, context);
    const options = readListParameters(resource, context);
    const deletion = await readDeleteParameters(context);
    const ignoreReadErrors = await authorizeUnsafeDeletion(context, deletion.ignoreReadErrors, mayDeleteUnreadable);
    const requester = createRequester(context, checks, toOperationOptions(deletion));
    const requested = { list: options, delete: { ...deletion, ignoreReadErrors, requester }, workers };
    const { status, listed } = await withTimeoutSeconds(options.timeoutSeconds, context.call, resource.clock, (call) =>
      deleteCollection(resource, requested, call),
    );
    if (isCounted) return statusResponse(context, format, 200, status);
    // Objects that cannot be read cannot be shown, only counted.
    if (ignoreReadErrors) return statusResponse(context, { encoding: format.encoding }, 200, status);
    return listResponse(context, resource, format, listed);
  };
