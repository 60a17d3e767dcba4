import type { Clock } from '@cluster-apiserver/base';
import type { Review } from '@cluster-apiserver/model/kind';
import { createReview } from '@cluster-apiserver/registry';
import type { Handler } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { unstoredObjectResponse } from '../responses.ts';
import { readRequestObject } from './request-object.ts';
import { readOperationOptions, createRequester, type WriteChecks } from './requester.ts';

export const reviewHandler =
  (review: Review, checks: WriteChecks, clock: Clock): Handler<AuthenticatedContext> =>
  async (context) => {
    const {
      object,
      options,
      responseFormat: format,
    } = await readRequestObject(review, context, 'CreateOptions', clock);
    const requester = createRequester(context, checks, readOperationOptions('CreateOptions', context.info));
    const place = { namespace: context.info.resource?.namespace };
    const answered = await createReview(review, object, { ...options, ...place, requester }, clock);
    return unstoredObjectResponse(context, review, format, 201, answered, clock);
  };
