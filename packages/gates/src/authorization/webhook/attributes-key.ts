import type { AccessAttributes, UserInfo } from '@cluster-apiserver/model';

/** The token cache returns the same object for most requests of a user. */
const userKeys = new WeakMap<UserInfo, string>();

/** Equal for the attributes of two requests if and only if their reviews are equal. */
export function getAttributesKey({ user, verb, path, resource }: AccessAttributes): string {
  if (!resource) return `${getUserKey(user)}${encodeWithLength(verb)}${encodeWithLength(path)}`;
  const { group, version, subresource, namespace, name, fieldSelector, labelSelector } = resource;
  const target = `${encodeWithLength(group)}${encodeWithLength(version)}${encodeWithLength(resource.resource)}${encodeWithLength(subresource)}`;
  const selectors = fieldSelector || labelSelector ? JSON.stringify([fieldSelector, labelSelector]) : '';
  return `${getUserKey(user)}${encodeWithLength(verb)}${target}${encodeWithLength(namespace)}${encodeWithLength(name)}${selectors}`;
}

/** Prefixes the length, so that different sequences of values never give the same key. */
const encodeWithLength = (value = ''): string => `${value.length}:${value}`;

function getUserKey(user: UserInfo): string {
  const known = userKeys.get(user);
  if (known !== undefined) return known;
  const { name, uid = '', groups, extra = {} } = user;
  const extras = Object.entries(extra).toSorted(([left], [right]) => (left < right ? -1 : 1));
  const key = JSON.stringify([name, uid, groups, extras]);
  userKeys.set(user, key);
  return key;
}
