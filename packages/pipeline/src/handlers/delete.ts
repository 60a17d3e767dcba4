import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteObject, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateObject } from '../encoding/negotiate.ts';
import { objectResponse, statusResponse } from '../responses.ts';
import { readDeleteParameters } from './delete-parameters.ts';
import { toOperationOptions, namespacedNameOf, createRequester, type WriteChecks } from './requester.ts';
import { authorizeUnsafeDeletion } from './unsafe-deletion.ts';

/** `unsafeDeletionAuthorizer` is undefined if unsafe deletion is disabled. */
export const deleteHandler =
  (
    resource: Resource,
    checks: WriteChecks,
    mayDeleteUnreadable: Authorizer | undefined,
  ): Handler<AuthenticatedContext> =>
  async (context) => {
    const format = negotiateObject(context, resource.served);
    const { namespace, name } = namespacedNameOf(context);
    const parameters = await readDeleteParameters(context);
    const ignoreReadErrors = await authorizeUnsafeDeletion(context, parameters.ignoreReadErrors, mayDeleteUnreadable);
    const options = {
      ...parameters,
      ignoreReadErrors,
      namespace,
      requester: createRequester(context, checks, toOperationOptions(parameters)),
    };
    const { answer, gone } = await deleteObject(resource, name, options, context.call);
    // 202 only for clients that use orphanDependents: older clients do not know it.
    const code = !gone && options.orphanDependents === false ? 202 : 200;
    return 'json' in answer
      ? objectResponse(context, resource, format, code, answer)
      : statusResponse(context, format, code, answer);
  };
