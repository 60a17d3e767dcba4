import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';

/** A service account as its tokens identify it. The UID distinguishes it from later accounts with the same name. */
export interface AccountReference {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A secret of the account's namespace. The token that is bound to it ends with it. */
export interface BoundSecret {
  readonly name: string;
  readonly uid: string;
}

/** The private claim that identifies the account, in the form of Kubernetes. */
export const toAccountClaim = (
  { namespace, name, uid }: AccountReference,
  secret: BoundSecret | undefined,
): JsonObject => ({
  'kubernetes.io': {
    namespace,
    ...(secret && { secret: { name: secret.name, uid: secret.uid } }),
    serviceaccount: { name, uid },
  },
});

/** The account of a token; undefined if the token names none. */
export function readAccount(claims: JsonObject): AccountReference | undefined {
  const own = toRecord(claims['kubernetes.io']);
  const { namespace } = own;
  const { name, uid } = toRecord(own['serviceaccount']);
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  return { namespace, name, uid };
}

/** The secret that the token is bound to, if any. */
export function readBoundSecret(claims: JsonObject): BoundSecret | undefined {
  const { name, uid } = toRecord(toRecord(claims['kubernetes.io'])['secret']);
  return typeof name === 'string' && typeof uid === 'string' ? { name, uid } : undefined;
}

/**
 * Whether it is bound to an object that cannot exist here: of a kind that is not served, or one that it does not identify.
 * kube-apiserver issues tokens for pods and nodes, and may share the key.
 */
export const isBoundElsewhere = (claims: JsonObject): boolean =>
  ['pod', 'node'].some((kind) => Object.hasOwn(toRecord(claims['kubernetes.io']), kind)) ||
  (Object.hasOwn(toRecord(claims['kubernetes.io']), 'secret') && !readBoundSecret(claims));

const toRecord = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const getAccountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];
