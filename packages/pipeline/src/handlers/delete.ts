import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteObject, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateObject } from '../encoding/negotiate.ts';
import { objectResponse, statusResponse } from '../responses.ts';
import { readDeletion } from './deletion.ts';
import { namespacedNameOf, type WriteChecks } from './requester.ts';

export const deleteHandler =
  (resource: Resource, checks: WriteChecks, unsafeAuthorizer: Authorizer | undefined): Handler<AuthenticatedContext> =>
  async (context) => {
    const format = negotiateObject(context, resource.served);
    const { namespace, name } = namespacedNameOf(context);
    const deletion = await readDeletion(context, checks, unsafeAuthorizer);
    const { answer, gone } = await deleteObject(resource, name, { ...deletion, namespace }, context.call);
    // 202 only for clients that use orphanDependents: older clients do not know it.
    const code = !gone && deletion.orphanDependents === false ? 202 : 200;
    return 'json' in answer
      ? objectResponse(context, resource, format, code, answer)
      : statusResponse(context, format, code, answer);
  };
