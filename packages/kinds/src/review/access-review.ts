import type { Call } from '@cluster-apiserver/base';
import { decisionNotReady, Problems, requireValid, type UserInfo } from '@cluster-apiserver/model';
import { defineReview, type KubeObject, type ObjectOf, type Review } from '@cluster-apiserver/model/kind';
import { boolean, field, list, listMap, object, publicationOf, string } from '@cluster-apiserver/model/schema';
import { accessFields, authorization, toAccessAttributes, validateAccess } from './access-attributes.ts';
import type { ReviewServices } from './services.ts';

const status = object(
  {
    allowed: field(1, boolean, 'True if the action is allowed.', 'always'),
    denied: field(
      4,
      boolean,
      'True if an authorizer denied the action. If neither allowed nor denied is true, no authorizer had an opinion.',
    ),
    reason: field(2, string, 'Reason of the decision.'),
    evaluationError: field(3, string, 'Error during the evaluation. The decision may still be valid.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectAccessReviewStatus' },
      'True if the action is allowed.',
      ['allowed'],
    ),
  },
);

const selfSpec = object(accessFields, {
  publication: publicationOf(
    { ...authorization, kind: 'SelfSubjectAccessReviewSpec' },
    'Action to check: exactly one of resourceAttributes and nonResourceAttributes.',
  ),
});

const specSchema = object(
  {
    ...accessFields,
    user: field(3, string, 'User whose permission is checked. If groups are empty, the user has no groups.'),
    groups: field(4, list(string, 'atomic'), 'Groups of the user.'),
    extra: field(5, listMap, 'Further attributes of the user.'),
    uid: field(6, string, 'The UID of the user.'),
  },
  {
    publication: publicationOf(
      { ...authorization, kind: 'SubjectAccessReviewSpec' },
      'Action to check: exactly one of resourceAttributes and nonResourceAttributes.',
    ),
  },
);

const common = {
  ...authorization,
  requiredFields: ['spec'],
};
const statusField = field(3, status, 'Filled by the server.', 'always');
const fields = { spec: field(2, specSchema, 'Action to check.', 'always'), status: statusField };
const selfFields = { spec: field(2, selfSpec, 'Action to check.', 'always'), status: statusField };

/** A review of any user. A review of the requester itself names no user. */
type AccessReview = ObjectOf<typeof fields>;

export const selfSubjectAccessReview = (services: ReviewServices): Review =>
  defineReview({
    ...common,
    kind: 'SelfSubjectAccessReview',
    plural: 'selfsubjectaccessreviews',
    singular: 'selfsubjectaccessreview',
    namespaced: false,
    description: 'Checks whether the requester may perform an action.',
    fields: selfFields,
    answer: (review, asker, call) => {
      refuseInvalid((problems) => {
        validateAccess(review.spec, problems.at('spec'));
        validateMetadata(review.metadata, 'must be empty', problems);
      });
      return answerReview(services, review, asker, call);
    },
  });

export const subjectAccessReview = (services: ReviewServices): Review =>
  defineReview({
    ...common,
    kind: 'SubjectAccessReview',
    plural: 'subjectaccessreviews',
    singular: 'subjectaccessreview',
    namespaced: false,
    description: 'Checks whether a user may perform an action.',
    fields,
    answer: (review, _, call) => {
      refuseInvalid((problems) => {
        validateSpec(review.spec, problems.at('spec'));
        validateMetadata(review.metadata, 'must be empty', problems);
      });
      return answerReview(services, review, subjectOf(review.spec), call);
    },
  });

export const localSubjectAccessReview = (services: ReviewServices): Review =>
  defineReview({
    ...common,
    kind: 'LocalSubjectAccessReview',
    plural: 'localsubjectaccessreviews',
    singular: 'localsubjectaccessreview',
    namespaced: true,
    description:
      'Checks whether a user may perform an action in one namespace, so that the right to check can be granted by namespace.',
    fields,
    answer: (review, _, call) => {
      refuseInvalid((problems) => validateLocal(review, problems));
      return answerReview(services, review, subjectOf(review.spec), call);
    },
  });

async function answerReview(
  { authorize }: ReviewServices,
  review: AccessReview,
  user: UserInfo,
  call: Call,
): Promise<AccessReview> {
  const { attributes, problems } = toAccessAttributes(user, review.spec);
  const { verdict, reason, error } = await authorize(attributes, call);
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

const subjectOf = ({ user = '', groups = [], extra, uid }: AccessReview['spec']): UserInfo => ({
  name: user,
  groups,
  extra,
  uid,
});

function validateSpec(spec: AccessReview['spec'], problems: Problems): void {
  const { user = '', groups = [] } = spec;
  validateAccess(spec, problems);
  if (user === '' && groups.length === 0)
    problems.at('user').invalid('', 'at least one of user or group must be specified');
}

function validateLocal({ spec, metadata: { namespace, ...metadata } }: AccessReview, problems: Problems): void {
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  const at = problems.at('spec');
  validateSpec(spec, at);
  validateMetadata(metadata, 'must be empty except for namespace', problems);
  if (resource && resource.namespace !== namespace)
    at.at('resourceAttributes', 'namespace').invalid(resource.namespace ?? '', 'must match metadata.namespace');
  if (path) at.at('nonResourceAttributes').invalid(path, 'disallowed on this kind of request');
}

/** Reviews are not stored, so they have no metadata. */
function validateMetadata(metadata: KubeObject['metadata'], rule: string, problems: Problems): void {
  const { managedFields: _, ...given } = metadata; // the server has set them
  if (Object.keys(given).length > 0) problems.at('metadata').invalid(given, rule);
}

/** The answer names the group of the review, and like that of kube-apiserver not its kind. */
function refuseInvalid(validate: (problems: Problems) => void): void {
  const problems = new Problems();
  validate(problems);
  requireValid({ group: authorization.group, kind: '' }, '', problems);
}
