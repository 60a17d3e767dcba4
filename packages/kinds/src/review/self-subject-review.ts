import {
  defineReview,
  field,
  formatTime,
  type KubeObject,
  object,
  publicationOf,
  type Review,
} from '@cluster-apiserver/model';
import type { ReviewServices } from './services.ts';
import { authentication, type WrittenUserInfo, userInfo, userInfoOf } from './user-info.ts';

interface SelfSubjectReview extends KubeObject {
  status: { userInfo?: WrittenUserInfo };
}

const status = object(
  { userInfo: field(userInfo, 'Identity of the requester, after impersonation if there is any.', 'always') },
  {
    publication: publicationOf({ ...authentication, kind: 'SelfSubjectReviewStatus' }, 'Identity of the requester.'),
    numbers: { userInfo: 1 },
  },
);

/** Who am I? */
export const selfSubjectReview = ({ clock }: ReviewServices): Review =>
  defineReview<SelfSubjectReview>({
    ...authentication,
    kind: 'SelfSubjectReview',
    plural: 'selfsubjectreviews',
    singular: 'selfsubjectreview',
    namespaced: false,
    description: 'Returns the identity of the requester.',
    fields: { status: field(status, 'Filled by the server.', 'always') },
    numbers: { status: 2 },
    requiredFields: [],
    // Nothing of the metadata that was sent: it is about another object.
    answer: (review, asker) => ({
      ...review,
      metadata: { creationTimestamp: formatTime(clock.now()) },
      status: { userInfo: userInfoOf(asker) },
    }),
  });
