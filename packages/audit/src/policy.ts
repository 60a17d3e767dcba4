import type { AuditedResources, AuditPolicy, AuditRule } from '@cluster-apiserver/config';
import type { UserInfo } from '@cluster-apiserver/model';

/** The attributes of a request that an audit policy matches. */
export interface AuditAttributes {
  /** Undefined for a request that was not authenticated: no rule about users or groups matches it. */
  readonly user: UserInfo | undefined;
  readonly verb: string;
  readonly path: string;
  /** Undefined for non-resource paths. */
  readonly resource: AuditedResource | undefined;
  readonly name: string | undefined;
}

export interface AuditedResource {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly plural: string;
  readonly subresource: string | undefined;
}

/** The first rule that matches; undefined if nothing is recorded. */
export function evaluatePolicy({ rules }: AuditPolicy, attributes: AuditAttributes): AuditRule | undefined {
  const rule = rules.find((one) => matches(one, attributes));
  return rule?.level === 'None' ? undefined : rule;
}

function matches(rule: AuditRule, attributes: AuditAttributes): boolean {
  const { user, verb, path, resource } = attributes;
  if (rule.users && !(user && rule.users.has(user.name))) return false;
  if (rule.userGroups && !user?.groups.some((group) => rule.userGroups?.has(group))) return false;
  if (rule.verbs && !rule.verbs.has(verb)) return false;
  if (rule.namespaces || rule.resources) return resource !== undefined && matchesResource(rule, resource, attributes);
  if (rule.nonResourceURLs) return resource === undefined && rule.nonResourceURLs.some((url) => matchesPath(url, path));
  return true;
}

function matchesResource(
  { namespaces, resources }: AuditRule,
  resource: AuditedResource,
  { name }: AuditAttributes,
): boolean {
  // Cluster-scoped resources are in the namespace with the empty name.
  if (namespaces && !namespaces.has(resource.namespace ?? '')) return false;
  return !resources || resources.some((one) => includes(one, resource, name ?? ''));
}

function includes(
  { group, resources, resourceNames }: AuditedResources,
  { group: requestGroup, plural, subresource }: AuditedResource,
  name: string,
): boolean {
  if (group !== requestGroup) return false;
  if (!resources) return true;
  if (resourceNames && !resourceNames.has(name)) return false;
  const combined = subresource ? `${plural}/${subresource}` : plural;
  return resources.some(
    (one) =>
      one === '*' ||
      one === combined ||
      (subresource && one === `*/${subresource}`) ||
      // As in kube-apiserver, this includes the resource itself.
      one === `${plural}/*`,
  );
}

const matchesPath = (url: string, path: string): boolean =>
  url === '*' || url === path || (url.endsWith('*') && path.startsWith(url.slice(0, -1)));
