import { badRequest } from '@cluster-apiserver/model';
import { get, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { flag, text } from '../request-info.ts';
import { objectResponse } from '../respond.ts';
import { placeOf } from './place.ts';

export const getHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    const form = objectForm(facts, resource.served);
    if (flag(facts.info.query, 'export'))
      throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
    const version = text(facts.info.query, 'resourceVersion');
    return objectResponse(facts, resource, form, 200, await get(resource, placeOf(facts), version, facts.call));
  };
