import { create, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectResponse } from '../respond.ts';
import { incomingObject } from './incoming.ts';
import type { WriteChecks } from './place.ts';

export const createHandler =
  (resource: Resource, checks: WriteChecks): Handler<Authenticated> =>
  async (facts) => {
    const { object, options, form } = await incomingObject(resource, checks, facts, 'CreateOptions');
    return objectResponse(facts, resource, form, 201, await create(resource, object, options, facts.call));
  };
