import type { Subresource } from '@cluster-apiserver/model';
import { createSubresource, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { madeResponse } from '../respond.ts';
import { incomingForm } from './incoming.ts';
import { placeOf } from './place.ts';

export const createSubresourceHandler =
  (resource: Resource, subresource: Subresource): Handler<Authenticated> =>
  async (facts) => {
    const { object, options, form } = await incomingForm(subresource, facts, 'CreateOptions', resource.clock);
    const made = await createSubresource(resource, subresource, placeOf(facts), object, options.warn, facts.call);
    return madeResponse(facts, subresource, form, 201, made, resource.clock);
  };
