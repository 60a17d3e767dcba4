import { chain } from '@cluster-apiserver/base';
import { create, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { objectResponse } from '../responses.ts';
import { readObjectToStore } from './request-object.ts';
import type { WriteChecks } from './requester.ts';

export const createHandler =
  (resource: Resource, checks: WriteChecks): Handler<AuthenticatedContext> =>
  (context) =>
    chain(readObjectToStore(resource, checks, context, 'CreateOptions'), ({ object, options, responseFormat }) =>
      create(resource, object, options, context.call).then((outcome) =>
        objectResponse(context, resource, responseFormat, 201, outcome),
      ),
    );
