import type { Subresource } from '@cluster-apiserver/model';
import { createSubresource, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { madeResponse } from '../respond.ts';
import { incomingForm } from './incoming.ts';
import { operationOptions, placeOf, requesterOf, type WriteChecks } from './place.ts';

export const createSubresourceHandler =
  (resource: Resource, subresource: Subresource, checks: WriteChecks): Handler<Authenticated> =>
  async (facts) => {
    const { object, options, form } = await incomingForm(subresource, facts, 'CreateOptions', resource.clock);
    const { namespace, name } = placeOf(facts);
    const requester = requesterOf(facts, checks, operationOptions('CreateOptions', facts.info));
    const made = await createSubresource(
      resource,
      subresource,
      name,
      object,
      { ...options, namespace, requester },
      facts.call,
    );
    return madeResponse(facts, subresource, form, 201, made, resource.clock);
  };
