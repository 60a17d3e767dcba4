import { getOwn } from '@cluster-apiserver/base';
import type { AccessRules } from '@cluster-apiserver/model';
import { authenticatedGroup } from '../authentication/authenticator.ts';
import type { Authorizer } from './authorizer.ts';
import { noRules } from './rules.ts';

/** By group, what everybody may ask who is known: it is about himself, and he could find it out by trying. */
const questions: Readonly<Record<string, readonly string[]>> = {
  'authentication.k8s.io': ['selfsubjectreviews'],
  'authorization.k8s.io': ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
};

const asRules: AccessRules = {
  ...noRules,
  resource: Object.entries(questions).map(([group, resources]) => ({
    verbs: ['create'],
    apiGroups: [group],
    resources,
  })),
};

/** Lets everybody who is known ask who he is and what he may do, as the reference does with a role of its own. */
export const ownQuestions: Authorizer = {
  authorize: ({ user, verb, resource }) => {
    const asks =
      verb === 'create' &&
      resource?.subresource === undefined &&
      getOwn(questions, resource?.group ?? '')?.includes(resource?.resource ?? '') === true;
    return { verdict: asks && user.groups.includes(authenticatedGroup) ? 'allow' : 'noOpinion' };
  },
  rulesOf: ({ groups }) => (groups.includes(authenticatedGroup) ? asRules : noRules),
};
