import { type Resource, update } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { objectResponse } from '../responses.ts';
import { readObjectToStore } from './request-object.ts';
import { namespacedNameOf, type WriteChecks } from './requester.ts';

export const updateHandler =
  (resource: Resource, checks: WriteChecks): Handler<AuthenticatedContext> =>
  async (context) => {
    const { object, options, responseFormat } = await readObjectToStore(resource, checks, context, 'UpdateOptions');
    const { outcome, created } = await update(resource, namespacedNameOf(context).name, object, options, context.call);
    return objectResponse(context, resource, responseFormat, created ? 201 : 200, outcome);
  };
