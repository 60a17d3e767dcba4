import type { Call } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { TokenAnswer } from '../token-authenticator.ts';
import type { AccountReference, BoundSecret } from './claims.ts';

/** The answer to a service account token whose signature is right. */
export interface AccountAnswer extends TokenAnswer {
  readonly account: AccountReference;
  /** The secret that the token is bound to. */
  readonly secret: BoundSecret | undefined;
  /** The name of the secret that contains the token, if one does. */
  readonly secretName?: string | undefined;
}

/** An object that a token relies on: its account, or the secret that it is bound to. */
export interface TokenReferent extends AccountReference {
  readonly kind: 'ServiceAccount' | 'Secret';
}

/** An existing object. */
export interface FoundReferent {
  readonly uid: string;
  readonly labels: Readonly<Record<string, string>> | undefined;
  /** Finalizers may keep an object that has been deleted. */
  readonly lifecycle: { readonly deletionTimestamp: string | undefined } | undefined;
  /** Parsed with each reading. */
  readonly object: KubeObject;
}

/** Reads the watch cache, or etcd if `freshly` is set. */
export type FindReferent = (
  referent: Pick<TokenReferent, 'kind' | 'namespace' | 'name'>,
  freshly: boolean,
  call: Call,
) => FoundReferent | undefined | Promise<FoundReferent | undefined>;
