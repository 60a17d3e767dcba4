import type { UserInfo } from '../authentication/authenticator.ts';
import type { Rules } from './rules.ts';

/** What is asked of authorization: may this user do this? */
export interface Attributes {
  readonly user: UserInfo;
  readonly verb: string;
  readonly path: string;
  /** Undefined for paths that are no resources. */
  readonly resource?: ResourceAttributes | undefined;
}

export interface ResourceAttributes {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string | undefined;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

export interface Decision {
  /** `deny` ends the question, `noOpinion` hands it on. */
  readonly verdict: 'allow' | 'deny' | 'noOpinion';
  /** For the caller, so it names no secrets. */
  readonly reason?: string | undefined;
}

export interface Authorizer {
  authorize(attributes: Attributes): Decision | Promise<Decision>;
  /** What it allows a user in a namespace. Left out by those who cannot say it beforehand. */
  rulesOf?(user: UserInfo, namespace: string): Rules | Promise<Rules>;
}
