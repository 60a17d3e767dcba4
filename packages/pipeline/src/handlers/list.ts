import { list, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { listForm } from '../forms/negotiate.ts';
import { listParameters } from '../options.ts';
import { listResponse } from '../respond.ts';
import { withinSeconds } from '../stages/deadline.ts';

export const listHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    const form = listForm(facts, resource.served);
    const options = listParameters(resource, facts);
    const found = await withinSeconds(options.timeoutSeconds, facts.call, resource.clock, (call) =>
      list(resource, options, call),
    );
    return listResponse(facts, resource, form, found);
  };
