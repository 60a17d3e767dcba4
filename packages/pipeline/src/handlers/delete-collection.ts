import type { Authorizer } from '@cluster-apiserver/gates';
import { deleteCollection, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { listParameters, requireObeyedSelector } from '../options.ts';
import { statusResponse } from '../respond.ts';
import { deleteParameters } from './delete-parameters.ts';
import { deletionOptions, requesterOf, type WriteChecks } from './place.ts';
import { deletesUnreadable } from './unsafe-deletion.ts';

/** `mayDeleteUnreadable` is undefined where nobody may. */
export const deleteCollectionHandler =
  (
    resource: Resource,
    checks: WriteChecks,
    workers: number,
    mayDeleteUnreadable: Authorizer | undefined,
  ): Handler<Authenticated> =>
  async (facts) => {
    const form = objectForm(facts, resource.served);
    requireObeyedSelector(resource, facts);
    const options = listParameters(resource, facts);
    const deletion = await deleteParameters(facts);
    const ignoreReadErrors = await deletesUnreadable(facts, deletion.ignoreReadErrors, mayDeleteUnreadable);
    const status = await deleteCollection(
      resource,
      {
        list: options,
        delete: {
          ...deletion,
          ignoreReadErrors,
          requester: requesterOf(facts, checks, deletionOptions(deletion)),
        },
        workers,
      },
      facts.call,
    );
    return statusResponse(facts, form, 200, status);
  };
