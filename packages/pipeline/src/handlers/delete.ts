import { deleteObject, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { objectResponse, statusResponse } from '../respond.ts';
import { deleteParameters } from './delete-parameters.ts';
import { placeOf } from './place.ts';

export const deleteHandler =
  (resource: Resource): Handler<Authenticated> =>
  async (facts) => {
    const form = objectForm(facts, resource.served);
    const { namespace, name } = placeOf(facts);
    const options = await deleteParameters(facts, resource.served);
    const { answer, gone } = await deleteObject(resource, name, { ...options, namespace }, facts.call);
    // Accepted but not done: only to those who asked for the cascade this way, as older clients know no 202.
    const code = !gone && options.orphanDependents === false ? 202 : 200;
    return 'json' in answer
      ? objectResponse(facts, resource, form, code, answer)
      : statusResponse(facts, form, code, answer);
  };
