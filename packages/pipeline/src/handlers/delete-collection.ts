import type { Admission } from '@cluster-apiserver/gates';
import { deleteCollection, type Resource } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { objectForm } from '../forms/negotiate.ts';
import { listParameters } from '../options.ts';
import { statusResponse } from '../respond.ts';
import { deleteParameters } from './delete-parameters.ts';
import { askedBy } from './place.ts';

/** What cannot be read cannot be selected, so a collection is never deleted regardless: each name has to be given. */
export const deleteCollectionHandler =
  (resource: Resource, admission: Admission, workers: number): Handler<Authenticated> =>
  async (facts) => {
    const form = objectForm(facts, resource.served);
    const options = listParameters(resource, facts.info);
    const status = await deleteCollection(
      resource,
      {
        list: options,
        delete: {
          ...(await deleteParameters(facts, resource.served)),
          ignoreReadErrors: false,
          asked: askedBy(facts, admission),
        },
        workers,
      },
      facts.call,
    );
    return statusResponse(facts, form, 200, status);
  };
