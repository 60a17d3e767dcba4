/** A service account as its tokens name it. The uid tells it from later ones of the same name. */
export interface AccountReference {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** What a token says of its account, in the form of Kubernetes. */
export const toAccountClaim = ({ namespace, name, uid }: AccountReference): Readonly<Record<string, unknown>> => ({
  'kubernetes.io': { namespace, serviceaccount: { name, uid } },
});

/** The account that a token is of; undefined when it names none. */
export function readAccount(claims: Readonly<Record<string, unknown>>): AccountReference | undefined {
  const own = toRecord(claims['kubernetes.io']);
  const { namespace } = own;
  const { name, uid } = toRecord(own['serviceaccount']);
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  return { namespace, name, uid };
}

/** Tokens that kube-apiserver has issued with the same key may be bound to objects that do not exist here. */
export const isBoundToObject = (claims: Readonly<Record<string, unknown>>): boolean =>
  ['pod', 'secret', 'node'].some((kind) => Object.hasOwn(toRecord(claims['kubernetes.io']), kind));

const toRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};

export const getAccountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];
