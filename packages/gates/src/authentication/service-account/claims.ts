import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';

/** A service account as its tokens identify it. The UID distinguishes it from later accounts with the same name. */
export interface AccountReference {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** The private claim that identifies the account, in the form of Kubernetes. */
export const toAccountClaim = ({ namespace, name, uid }: AccountReference): JsonObject => ({
  'kubernetes.io': { namespace, serviceaccount: { name, uid } },
});

/** The account of a token; undefined if the token names none. */
export function readAccount(claims: JsonObject): AccountReference | undefined {
  const own = toRecord(claims['kubernetes.io']);
  const { namespace } = own;
  const { name, uid } = toRecord(own['serviceaccount']);
  if (typeof namespace !== 'string' || typeof name !== 'string' || typeof uid !== 'string') return undefined;
  return { namespace, name, uid };
}

/** Whether the token is bound to an object. kube-apiserver issues such tokens, and may share the key. */
export const isBoundToObject = (claims: JsonObject): boolean =>
  ['pod', 'secret', 'node'].some((kind) => Object.hasOwn(toRecord(claims['kubernetes.io']), kind));

const toRecord = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

export const getAccountGroups = (namespace: string): readonly string[] => [
  'system:serviceaccounts',
  `system:serviceaccounts:${namespace}`,
];
