import type { Admission } from '@cluster-apiserver/gates';
import { create, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectResponse } from '../respond.ts';
import { incomingObject } from './incoming.ts';

export const createHandler =
  (resource: Resource, admission: Admission): Handler<Authenticated> =>
  async (facts) => {
    const { object, options, form } = await incomingObject(resource, admission, facts, 'CreateOptions');
    return objectResponse(facts, resource, form, 201, await create(resource, object, options, facts.call));
  };
