import type { AccessQuestion, UserInfo } from '@cluster-apiserver/model';

/** Most requests come from a user that an earlier one has come from, as the same object. */
const userKeys = new WeakMap<UserInfo, string>();

/** Equal for two questions exactly if a webhook would get the same review for both. */
export function questionKey({ user, verb, path, resource }: AccessQuestion): string {
  if (!resource) return `${userKey(user)}${written(verb)}${written(path)}`;
  const { group, version, subresource, namespace, name, fieldSelector, labelSelector } = resource;
  const target = `${written(group)}${written(version)}${written(resource.resource)}${written(subresource)}`;
  const selectors = fieldSelector || labelSelector ? JSON.stringify([fieldSelector, labelSelector]) : '';
  return `${userKey(user)}${written(verb)}${target}${written(namespace)}${written(name)}${selectors}`;
}

/** With its length before it, so that no two rows of values give the same text. */
const written = (value = ''): string => `${value.length}:${value}`;

function userKey(user: UserInfo): string {
  const known = userKeys.get(user);
  if (known !== undefined) return known;
  const { name, uid = '', groups, extra = {} } = user;
  const extras = Object.entries(extra).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const key = JSON.stringify([name, uid, groups, extras]);
  userKeys.set(user, key);
  return key;
}
