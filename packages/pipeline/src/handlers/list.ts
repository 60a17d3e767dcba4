import { list, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { negotiated } from '../negotiate.ts';
import { listParameters } from '../options.ts';
import { listResponse } from '../respond.ts';

export const listHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    negotiated(facts.request, facts.info.query);
    return listResponse(facts, resource.kind, await list(resource, listParameters(resource, facts.info), facts.call));
  };
