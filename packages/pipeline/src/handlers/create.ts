import { create, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { objectResponse } from '../responses.ts';
import { readObjectToStore } from './request-object.ts';
import type { WriteChecks } from './requester.ts';

export const createHandler =
  (resource: Resource, checks: WriteChecks): Handler<AuthenticatedContext> =>
  async (context) => {
    const {
      object,
      options,
      responseFormat: format,
    } = await readObjectToStore(resource, checks, context, 'CreateOptions');
    return objectResponse(context, resource, format, 201, await create(resource, object, options, context.call));
  };
