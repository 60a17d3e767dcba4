import { chain } from '@cluster-apiserver/base';
import { type Resource, update } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { objectResponse } from '../responses.ts';
import { readObjectToStore } from './request-object.ts';
import { namespacedNameOf, type WriteChecks } from './requester.ts';

export const updateHandler =
  (resource: Resource, checks: WriteChecks): Handler<AuthenticatedContext> =>
  (context) =>
    chain(readObjectToStore(resource, checks, context, 'UpdateOptions'), ({ object, options, responseFormat }) =>
      update(resource, namespacedNameOf(context).name, object, options, context.call).then(({ outcome, created }) =>
        objectResponse(context, resource, responseFormat, created ? 201 : 200, outcome),
      ),
    );
