import { chain } from '@cluster-apiserver/base';
import { badRequest } from '@cluster-apiserver/model';
import { get, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { negotiateObject } from '../encoding/negotiate.ts';
import { readBoolean, readString } from '../request-info.ts';
import { objectResponse } from '../responses.ts';
import { namespacedNameOf } from './requester.ts';

export const getHandler =
  (resource: Resource): Handler<AuthenticatedContext> =>
  (context) => {
    const format = negotiateObject(context, resource.served);
    if (readBoolean(context.info.query, 'export'))
      throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
    const version = readString(context.info.query, 'resourceVersion');
    return chain(get(resource, namespacedNameOf(context), version, context.call), (found) =>
      objectResponse(context, resource, format, 200, found),
    );
  };
