import { get, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { negotiated } from '../negotiate.ts';
import { text } from '../request-info.ts';
import { objectResponse } from '../respond.ts';
import { placeOf } from './place.ts';

export const getHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    negotiated(facts.request, facts.info.query);
    return objectResponse(
      facts,
      200,
      await get(resource, placeOf(facts), text(facts.info.query, 'resourceVersion'), facts.call),
    );
  };
