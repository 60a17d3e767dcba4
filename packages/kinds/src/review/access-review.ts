import type { Call } from '@cluster-apiserver/base';
import {
  boolean,
  decisionNotReady,
  defineReview,
  field,
  type FieldError,
  invalid,
  invalidValue,
  type KubeObject,
  list,
  listMap,
  object,
  publicationOf,
  type Review,
  string,
  type UserInfo,
} from '@cluster-apiserver/model';
import {
  type AccessAttributes,
  accessErrors,
  accessFields,
  accessNumbers,
  accessQuestion,
  authorization,
} from './access-attributes.ts';
import type { ReviewServices } from './services.ts';

/** May somebody do something? Asked about oneself, about anybody, and about anybody inside of one namespace. */

interface AccessReview extends KubeObject {
  spec: AccessAttributes & Subject;
  status: { allowed?: boolean; denied?: boolean; reason?: string; evaluationError?: string };
}

interface Subject {
  user?: string;
  groups?: readonly string[];
  extra?: Readonly<Record<string, readonly string[]>>;
  uid?: string;
}

const status = object(
  {
    allowed: field(boolean, 'True if the action is allowed.', 'always'),
    denied: field(
      boolean,
      'True if an authorizer denied the action. If neither allowed nor denied is true, no authorizer had an opinion.',
    ),
    reason: field(string, 'Reason of the decision.'),
    evaluationError: field(string, 'Error during the evaluation. The decision may still be valid.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectAccessReviewStatus' },
      'True if the action is allowed.',
      ['allowed'],
    ),
    numbers: { allowed: 1, reason: 2, evaluationError: 3, denied: 4 },
  },
);

const selfSpec = object(accessFields, {
  publication: publicationOf(
    { ...authorization, kind: 'SelfSubjectAccessReviewSpec' },
    'Action to check: exactly one of resourceAttributes and nonResourceAttributes.',
  ),
  numbers: accessNumbers,
});

const spec = object(
  {
    ...accessFields,
    user: field(string, 'User whose permission is checked. If groups are empty, the user has no groups.'),
    groups: field(list(string, 'atomic'), 'Groups of the user.'),
    extra: field(listMap, 'Further attributes of the user.'),
    uid: field(string, 'The UID of the user.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectAccessReviewSpec' },
      'Action to check: exactly one of resourceAttributes and nonResourceAttributes.',
    ),
    numbers: { ...accessNumbers, user: 3, groups: 4, extra: 5, uid: 6 },
  },
);

const common = {
  ...authorization,
  numbers: { spec: 2, status: 3 },
  requiredFields: ['spec'],
};
const fields = { status: field(status, 'Filled by the server.', 'always') };

export const selfSubjectAccessReview = (services: ReviewServices): Review =>
  defineReview<AccessReview>({
    ...common,
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    singular: 'selfsubjectaccessreview',
    namespaced: false,
    description: 'Checks whether the requester may perform an action.',
    fields: { spec: field(selfSpec, 'What is asked.', 'always'), ...fields },
    answer: (review, asker, call) => {
      requireValid([...accessErrors(review.spec), ...metadataErrors(review, 'must be empty')]);
      return decided(services, review, asker, call);
    },
  });

export const subjectAccessReview = (services: ReviewServices): Review =>
  defineReview<AccessReview>({
    ...common,
    kind: 'SubjectAccessReview',
    plural: 'subjectaccessreviews',
    singular: 'subjectaccessreview',
    namespaced: false,
    description: 'Checks whether a user may perform an action.',
    fields: { spec: field(spec, 'What is asked.', 'always'), ...fields },
    answer: (review, _, call) => {
      requireValid([
        ...accessErrors(review.spec),
        ...subjectErrors(review.spec),
        ...metadataErrors(review, 'must be empty'),
      ]);
      return decided(services, review, subjectOf(review.spec), call);
    },
  });

export const localSubjectAccessReview = (services: ReviewServices): Review =>
  defineReview<AccessReview>({
    ...common,
    kind: 'LocalSubjectAccessReview',
    plural: 'localsubjectaccessreviews',
    singular: 'localsubjectaccessreview',
    namespaced: true,
    description:
      'Checks whether a user may perform an action in one namespace, so that the right to check can be granted by namespace.',
    fields: { spec: field(spec, 'What is asked.', 'always'), ...fields },
    answer: (review, _, call) => {
      requireValid(localErrors(review));
      return decided(services, review, subjectOf(review.spec), call);
    },
  });

async function decided(
  { authorize }: ReviewServices,
  review: AccessReview,
  user: UserInfo,
  call: Call,
): Promise<AccessReview> {
  const { question, problems } = accessQuestion(user, review.spec);
  const { verdict, reason, error } = await authorize(question, call);
  if (verdict === 'notReady') throw decisionNotReady();
  const evaluationError = [...(error ? [error.message] : []), ...problems].join('; ');
  return {
    ...review,
    status: {
      allowed: verdict === 'allow',
      denied: verdict === 'deny',
      ...(reason && { reason }),
      ...(evaluationError && { evaluationError }),
    },
  };
}

const subjectOf = ({ user = '', groups = [], extra, uid }: Subject): UserInfo => ({ name: user, groups, extra, uid });

const subjectErrors = ({ user = '', groups = [] }: Subject): FieldError[] =>
  user === '' && groups.length === 0
    ? [invalidValue('spec.user', '', 'at least one of user or group must be specified')]
    : [];

function localErrors({ spec, ...review }: AccessReview): FieldError[] {
  const { namespace, ...metadata } = review.metadata;
  const asked = spec.resourceAttributes?.namespace;
  return [
    ...accessErrors(spec),
    ...subjectErrors(spec),
    ...metadataErrors({ metadata }, 'must be empty except for namespace'),
    ...(spec.resourceAttributes && asked !== namespace
      ? [invalidValue('spec.resourceAttributes.namespace', asked ?? '', 'must match metadata.namespace')]
      : []),
    ...(spec.nonResourceAttributes
      ? [invalidValue('spec.nonResourceAttributes', spec.nonResourceAttributes, 'disallowed on this kind of request')]
      : []),
  ];
}

/** A question has no name, and what is only there for a moment has no labels. */
function metadataErrors({ metadata }: Pick<KubeObject, 'metadata'>, rule: string): FieldError[] {
  const { managedFields: _, ...given } = metadata; // those are ours
  return Object.keys(given).length > 0 ? [invalidValue('metadata', given, rule)] : [];
}

/** The reference names the group of the review here, and forgets its kind. */
function requireValid(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: authorization.group, kind: '' }, '', errors);
}
