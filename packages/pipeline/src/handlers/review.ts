import type { Clock } from '@cluster-apiserver/base';
import type { Review } from '@cluster-apiserver/model';
import { answerReview } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { madeResponse } from '../respond.ts';
import { incomingForm } from './incoming.ts';

export const reviewHandler =
  (review: Review, clock: Clock): Handler<Authenticated> =>
  async (facts) => {
    const { object, options, form } = await incomingForm(review, facts, 'CreateOptions', clock);
    const place = { namespace: facts.info.resource?.namespace, manager: options.manager };
    const answered = await answerReview(review, object, facts.user, place, clock, facts.call);
    return madeResponse(facts, review, form, 201, answered, clock);
  };
