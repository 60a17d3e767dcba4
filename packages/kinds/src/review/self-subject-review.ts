import { formatTime } from '@cluster-apiserver/model';
import { defineReview, type Review } from '@cluster-apiserver/model/kind';
import { field, object, publicationOf } from '@cluster-apiserver/model/schema';
import type { ReviewServices } from './services.ts';
import { authentication, userInfo, userInfoOf } from './user-info.ts';

const status = object(
  { userInfo: field(1, userInfo, 'Identity of the requester, after impersonation if there is any.', 'always') },
  {
    publication: publicationOf({ ...authentication, kind: 'SelfSubjectReviewStatus' }, 'Identity of the requester.'),
  },
);

const fields = { status: field(2, status, 'Filled by the server.', 'always') };

/** Answers the identity of the requester. */
export const selfSubjectReview = ({ clock }: ReviewServices): Review =>
  defineReview({
    ...authentication,
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
    singular: 'selfsubjectreview',
    namespaced: false,
    description: 'Returns the identity of the requester.',
    fields,
    requiredFields: [],
    // Nothing of the metadata that was sent: it is about another object.
    answer: (review, asker) => ({
      ...review,
      metadata: { creationTimestamp: formatTime(clock.now()) },
      status: { userInfo: userInfoOf(asker) },
    }),
  });
