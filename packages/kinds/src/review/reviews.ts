import type { Review } from '@cluster-apiserver/model/kind';
import { localSubjectAccessReview, selfSubjectAccessReview, subjectAccessReview } from './access-review.ts';
import { selfSubjectReview } from './self-subject-review.ts';
import { selfSubjectRulesReview } from './self-subject-rules-review.ts';
import type { ReviewServices } from './services.ts';
import { tokenReview } from './token-review.ts';

const all = [
  tokenReview,
  selfSubjectReview,
  localSubjectAccessReview,
  selfSubjectAccessReview,
  selfSubjectRulesReview,
  subjectAccessReview,
];

/** The reviews that the server serves. A review is served by its line here. */
export const reviews = (services: ReviewServices): readonly Review[] => all.map((review) => review(services));
