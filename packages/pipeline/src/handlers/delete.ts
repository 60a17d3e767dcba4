import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteObject, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { objectResponse, statusResponse } from '../respond.ts';
import { deleteParameters } from './delete-parameters.ts';
import { deletionOptions, placeOf, requesterOf, type WriteChecks } from './place.ts';
import { deletesUnreadable } from './unsafe-deletion.ts';

/** `mayDeleteUnreadable` is undefined where nobody may. */
export const deleteHandler =
  (resource: Resource, checks: WriteChecks, mayDeleteUnreadable: Authorizer | undefined): Handler<Authenticated> =>
  async (facts) => {
    const form = objectForm(facts, resource.served);
    const { namespace, name } = placeOf(facts);
    const parameters = await deleteParameters(facts);
    const ignoreReadErrors = await deletesUnreadable(facts, parameters.ignoreReadErrors, mayDeleteUnreadable);
    const options = {
      ...parameters,
      ignoreReadErrors,
      namespace,
      requester: requesterOf(facts, checks, deletionOptions(parameters)),
    };
    const { answer, gone } = await deleteObject(resource, name, options, facts.call);
    // Accepted but not done: only to those who asked for the cascade this way, as older clients know no 202.
    const code = !gone && options.orphanDependents === false ? 202 : 200;
    return 'json' in answer
      ? objectResponse(facts, resource, form, code, answer)
      : statusResponse(facts, form, code, answer);
  };
