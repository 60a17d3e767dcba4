import { deleteCollection, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { listParameters } from '../options.ts';
import { statusResponse } from '../respond.ts';
import { deleteParameters } from './delete-parameters.ts';
import { deletionOptions, requesterOf, type WriteChecks } from './place.ts';

/** What cannot be read cannot be selected, so a collection is never deleted regardless: each name has to be given. */
export const deleteCollectionHandler =
  (resource: Resource, checks: WriteChecks, workers: number): Handler<Authenticated> =>
  async (facts) => {
    const form = objectForm(facts, resource.served);
    const options = listParameters(resource, facts.info);
    const deletion = await deleteParameters(facts, resource.served);
    const status = await deleteCollection(
      resource,
      {
        list: options,
        delete: {
          ...deletion,
          ignoreReadErrors: false,
          requester: requesterOf(facts, checks, deletionOptions(deletion)),
        },
        workers,
      },
      facts.call,
    );
    return statusResponse(facts, form, 200, status);
  };
