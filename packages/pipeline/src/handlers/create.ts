import { create, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { objectResponse } from '../responses.ts';
import { readObjectToStore } from './request-object.ts';
import type { WriteChecks } from './requester.ts';

export const createHandler =
  (resource: Resource, checks: WriteChecks): Handler<AuthenticatedContext> =>
  async (context) => {
    const { object, options, responseFormat } = await readObjectToStore(resource, checks, context, 'CreateOptions');
    const outcome = await create(resource, object, options, context.call);
    return objectResponse(context, resource, responseFormat, 201, outcome);
  };
