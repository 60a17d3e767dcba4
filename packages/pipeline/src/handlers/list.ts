import { list, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { negotiated } from '../negotiate.ts';
import { listParameters } from '../options.ts';
import { listResponse } from '../respond.ts';
import { withinSeconds } from '../stages/deadline.ts';

export const listHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    negotiated(facts.request, facts.info.query);
    const options = listParameters(resource, facts.info);
    const found = await withinSeconds(options.timeoutSeconds, facts.call, resource.clock, (call) =>
      list(resource, options, call),
    );
    return listResponse(facts, resource.kind, found);
  };
