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
    allowed: field(boolean, 'Whether it may be done.', 'always'),
    denied: field(boolean, 'Whether somebody has refused it. Without that, nobody has allowed it either.'),
    reason: field(string, 'Why it may be done or not.'),
    evaluationError: field(string, 'What went wrong while it was found out. The answer may still be right.'),
  },
  {
    publication: publicationOf({ ...authorization, kind: 'SubjectAccessReviewStatus' }, 'Whether it may be done.', [
      'allowed',
    ]),
    numbers: { allowed: 1, reason: 2, evaluationError: 3, denied: 4 },
  },
);

const selfSpec = object(accessFields, {
  publication: publicationOf(
    { ...authorization, kind: 'SelfSubjectAccessReviewSpec' },
    'What oneself wants to do: exactly one of the two.',
  ),
  numbers: accessNumbers,
});

const spec = object(
  {
    ...accessFields,
    user: field(string, 'The user that it is about. Without groups it is a user who is in none.'),
    groups: field(list(string, 'atomic'), 'The groups that the user is a member of.'),
    extra: field(listMap, 'Whatever else is known of the user.'),
    uid: field(string, 'The UID of the user.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectAccessReviewSpec' },
      'What somebody wants to do: exactly one of the two ways to say it.',
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
    description: 'Asks whether oneself may do something.',
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
    description: 'Asks whether somebody may do something.',
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
      'Asks whether somebody may do something in this namespace. Whoever may ask here may not ask elsewhere.',
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
