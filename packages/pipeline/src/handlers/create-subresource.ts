import type { Subresource } from '@cluster-apiserver/model/kind';
import { createSubresource, type LiveApi, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { unstoredObjectResponse } from '../responses.ts';
import { readRequestObject } from './request-object.ts';
import { readOperationOptions, namespacedNameOf, createRequester, type WriteChecks } from './requester.ts';

export const createSubresourceHandler =
  (resource: Resource, subresource: Subresource, checks: WriteChecks, api: LiveApi): Handler<AuthenticatedContext> =>
  async (context) => {
    const {
      object,
      options,
      responseFormat: format,
    } = await readRequestObject(subresource, context, 'CreateOptions', resource.clock);
    const { namespace, name } = namespacedNameOf(context);
    const requester = createRequester(context, checks, readOperationOptions('CreateOptions', context.info));
    const created = await createSubresource(
      resource,
      subresource,
      name,
      object,
      { ...options, namespace, requester },
      context.call,
      api.current,
    );
    return unstoredObjectResponse(context, subresource, format, 201, created, resource.clock);
  };
