import type { AbacPolicy, AccessDecision, AccessAttributes, AccessRules, UserInfo } from '@cluster-apiserver/model';
import { authenticatedGroup } from '../authentication/authenticator.ts';
import type { Authorizer } from './authorizer.ts';

const allow: AccessDecision = { verdict: 'allow' };
const noPolicy: AccessDecision = { verdict: 'noOpinion', reason: 'No policy matched.' };
const readingVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

/** Attribute-based access control by the rules of kube-apiserver. */
export function createAbacAuthorizer(policies: readonly AbacPolicy[]): Required<Authorizer> {
  const findPolicy = indexBySubject(policies.map(expandWildcard));
  return {
    authorize: (attributes) =>
      findPolicy(attributes.user, (policy) => allows(policy, attributes)) === undefined ? noPolicy : allow,
    rulesOf: (user, namespace) => {
      const found: AbacPolicy[] = [];
      findPolicy(user, (policy) => {
        found.push(policy);
        return false;
      });
      return toRules(found, namespace);
    },
  };
}

const expandWildcard = (policy: AbacPolicy): AbacPolicy =>
  policy.user === '*' || policy.group === '*' ? { ...policy, user: '', group: authenticatedGroup } : policy;

type Find = (user: UserInfo, matches: (policy: AbacPolicy) => boolean) => AbacPolicy | undefined;

/** Indexes policies by subject. A policy without a subject matches no user; one with a user and a group requires both. */
function indexBySubject(policies: readonly AbacPolicy[]): Find {
  const ofUsers = Map.groupBy(
    policies.filter(({ user }) => user !== ''),
    ({ user }) => user,
  );
  const ofGroups = Map.groupBy(
    policies.filter(({ user, group }) => user === '' && group !== ''),
    ({ group }) => group,
  );
  return (user, matches) => {
    const own = ofUsers
      .get(user.name)
      ?.find((policy) => (policy.group === '' || user.groups.includes(policy.group)) && matches(policy));
    if (own) return own;
    for (const group of user.groups) {
      const found = ofGroups.get(group)?.find(matches);
      if (found) return found;
    }
    return undefined;
  };
}

function allows(policy: AbacPolicy, { verb, path, resource }: AccessAttributes): boolean {
  if (policy.readonly && !readingVerbs.has(verb)) return false;
  if (!resource) return isPath(policy.nonResourcePath, path);
  return (
    matches(policy.namespace, resource.namespace ?? '') &&
    matches(policy.resource, resource.resource) &&
    matches(policy.apiGroup, resource.group)
  );
}

const matches = (pattern: string, value: string): boolean => pattern === '*' || pattern === value;

const isPath = (pattern: string, path: string): boolean =>
  (pattern !== '' && pattern === path) || (pattern.endsWith('*') && path.startsWith(pattern.replace(/\*+$/, '')));

function toRules(policies: readonly AbacPolicy[], namespace: string): AccessRules {
  const verbs = (policy: AbacPolicy): readonly string[] => (policy.readonly ? [...readingVerbs] : ['*']);
  return {
    resource: policies
      .filter((policy) => policy.resource !== '' && matches(policy.namespace, namespace))
      .map((policy) => ({ verbs: verbs(policy), apiGroups: [policy.apiGroup], resources: [policy.resource] })),
    nonResource: policies
      .filter((policy) => policy.nonResourcePath !== '')
      .map((policy) => ({ verbs: verbs(policy), nonResourceURLs: [policy.nonResourcePath] })),
    incomplete: false,
  };
}
