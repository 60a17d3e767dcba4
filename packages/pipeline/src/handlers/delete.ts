import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteObject, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateObject } from '../encoding/negotiate.ts';
import { objectResponse, statusResponse } from '../responses.ts';
import { readDeleteParameters } from './delete-parameters.ts';
import { toOperationOptions, namespacedNameOf, createRequester, type WriteChecks } from './requester.ts';
import { authorizeUnsafeDeletion } from './unsafe-deletion.ts';

/** `mayDeleteUnreadable` is undefined where nobody may. */
export const deleteHandler =
  (
    resource: Resource,
    checks: WriteChecks,
    mayDeleteUnreadable: Authorizer | undefined,
  ): Handler<AuthenticatedContext> =>
  async (context) => {
    const form = negotiateObject(context, resource.served);
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
    // Accepted but not done: only to those who asked for the cascade this way, as older clients know no 202.
    const code = !gone && options.orphanDependents === false ? 202 : 200;
    return 'json' in answer
      ? objectResponse(context, resource, form, code, answer)
      : statusResponse(context, form, code, answer);
  };
