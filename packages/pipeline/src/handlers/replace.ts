import { type Resource, replace } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectResponse } from '../respond.ts';
import { incomingObject } from './incoming.ts';
import { placeOf, type WriteChecks } from './place.ts';

export const replaceHandler =
  (resource: Resource, checks: WriteChecks): Handler<Authenticated> =>
  async (facts) => {
    const { object, options, form } = await incomingObject(resource, checks, facts, 'UpdateOptions');
    const { outcome, created } = await replace(resource, placeOf(facts).name, object, options, facts.call);
    return objectResponse(facts, resource, form, created ? 201 : 200, outcome);
  };
