import type { AccessDecision, AccessRules } from '@cluster-apiserver/model';
import type { Authorizer } from '../authorizer.ts';
import { noRules } from '../rules.ts';
import { joinProblems, type PolicyIndex } from './policy-index.ts';

/** The index of roles and bindings; undefined until they have been read. */
export type CurrentPolicy = () => PolicyIndex | undefined;

/** Allows what bound roles allow. It never denies: other authorizers may allow more. */
export const createRbacAuthorizer = (current: CurrentPolicy): Required<Authorizer> => ({
  authorize: (attributes) => current()?.authorize(attributes) ?? notReady,
  rulesOf: (user, namespace) => {
    const index = current();
    if (!index) return { ...noRules, incomplete: true };
    const { rules, problems } = index.findHeldRules(user, namespace);
    const all = rules.flatMap((one) => one.rules);
    return {
      resource: all.flatMap(({ verbs = [], apiGroups = [], resources = [], resourceNames }) =>
        resources.length > 0 ? [{ verbs, apiGroups, resources, ...(resourceNames && { resourceNames }) }] : [],
      ),
      nonResource: all.flatMap(({ verbs = [], nonResourceURLs = [] }) =>
        nonResourceURLs.length > 0 ? [{ verbs, nonResourceURLs }] : [],
      ),
      incomplete: false,
      ...(problems.length > 0 && { error: new Error(joinProblems(problems)) }),
    } satisfies AccessRules;
  },
});

const notReady: AccessDecision = { verdict: 'notReady' };
