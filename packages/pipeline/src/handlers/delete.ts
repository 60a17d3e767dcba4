import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteObject, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { objectResponse, statusResponse } from '../respond.ts';
import { requireVerb } from '../stages/authorize.ts';
import { deleteParameters } from './delete-parameters.ts';
import { deletionOptions, placeOf, requesterOf, type WriteChecks } from './place.ts';

/** Asked for besides `delete` by whoever wants objects to be deleted that cannot be read. */
const unsafeVerb = 'unsafe-delete-ignore-read-errors';

/** `mayDeleteUnreadable` is undefined where nobody may; then it is as if nobody had asked for it. */
export const deleteHandler =
  (resource: Resource, checks: WriteChecks, mayDeleteUnreadable: Authorizer | undefined): Handler<Authenticated> =>
  async (facts) => {
    const form = objectForm(facts, resource.served);
    const { namespace, name } = placeOf(facts);
    const parameters = await deleteParameters(facts, resource.served);
    const ignoreReadErrors = parameters.ignoreReadErrors && mayDeleteUnreadable !== undefined;
    if (ignoreReadErrors) await requireVerb(mayDeleteUnreadable, facts, unsafeVerb);
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
