const prefix = 'system:serviceaccount:';
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** The user name of a service account. */
export const getAccountUserName = ({
  namespace,
  name,
}: {
  readonly namespace: string;
  readonly name: string;
}): string => `${prefix}${namespace}:${name}`;

/** The service account of a user name; undefined for other users. */
export function parseAccountUserName(user: string): { readonly namespace: string; readonly name: string } | undefined {
  if (!user.startsWith(prefix)) return undefined;
  const [namespace = '', name = '', ...rest] = user.slice(prefix.length).split(':');
  const isNamespace = namespace.length <= 63 && label.test(namespace);
  const isName = name.length <= 253 && name.split('.').every((part) => label.test(part));
  return rest.length === 0 && isNamespace && isName ? { namespace, name } : undefined;
}
