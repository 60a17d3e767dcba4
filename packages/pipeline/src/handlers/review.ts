import type { Clock } from '@cluster-apiserver/base';
import type { Review } from '@cluster-apiserver/model';
import { answerReview } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { valueResponse } from '../respond.ts';
import { incoming } from './incoming.ts';

export const reviewHandler =
  (review: Review, clock: Clock): Handler<Authenticated> =>
  async (facts) => {
    const { object, manager, form } = await incoming(review, facts, 'CreateOptions');
    const namespace = facts.info.resource?.namespace;
    const answered = await answerReview(review, object, facts.user, { namespace, manager }, clock);
    return valueResponse(facts, review, form, 201, answered, clock.now());
  };
