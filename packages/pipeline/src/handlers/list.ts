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
    const { trace } = facts.call;
    if (!trace) return listResponse(facts, resource, form, found);
    // Most of a list is made while it is sent, so its span ends when the last byte has left.
    const span = trace.child('encode list', { attributes: { 'apiserver.list.items': found.items.length } });
    facts.request.onEnd(() => span.end());
    return listResponse(facts, resource, form, found);
  };
