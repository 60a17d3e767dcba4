import type { Clock } from '@cluster-apiserver/base';
import type { Review } from '@cluster-apiserver/model';
import { createReview } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { madeResponse } from '../respond.ts';
import { incomingForm } from './incoming.ts';
import { operationOptions, requesterOf, type WriteChecks } from './place.ts';

export const reviewHandler =
  (review: Review, checks: WriteChecks, clock: Clock): Handler<Authenticated> =>
  async (facts) => {
    const { object, options, form } = await incomingForm(review, facts, 'CreateOptions', clock);
    const requester = requesterOf(facts, checks, operationOptions('CreateOptions', facts.info));
    const place = { namespace: facts.info.resource?.namespace };
    const answered = await createReview(review, object, { ...options, ...place, requester }, clock);
    return madeResponse(facts, review, form, 201, answered, clock);
  };
