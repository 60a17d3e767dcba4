import { StatusError } from './status.ts';

/** The identity of a requester. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The attributes of a request that authorizers decide by. */
export interface AccessAttributes {
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
  /** Of a list or a watch: the name that its field selector requires. */
  readonly name: string | undefined;
  /** Of a list, a watch or a collection delete: only objects with such fields are meant. */
  readonly fieldSelector?: AccessSelector | undefined;
  readonly labelSelector?: AccessSelector | undefined;
}

/** All of it must hold. */
export interface AccessSelector {
  /** At least one. */
  readonly requirements: readonly AccessRequirement[];
}

export interface AccessRequirement {
  readonly key: string;
  /** In, NotIn, Exists or DoesNotExist. */
  readonly operator: string;
  /** Left out when there are none. */
  readonly values?: readonly string[];
}

export interface AccessDecision {
  /**
   * `deny` is final; `noOpinion` leaves the decision to the next authorizer. So does `notReady`, and if no other authorizer
   * decides, the client gets a 503 to retry, because the policy is not loaded yet.
   */
  readonly verdict: 'allow' | 'deny' | 'noOpinion' | 'notReady';
  /** Shown to the requester, so it contains no secrets. */
  readonly reason?: string | undefined;
  /** An error during evaluation. The decision is valid all the same. */
  readonly error?: Error | undefined;
  /** For the audit event of the request. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The response while the policy of an authorizer is not loaded yet. */
export const decisionNotReady = (): StatusError =>
  new StatusError('ServiceUnavailable', 'the server is not ready to authorize requests; please try again', {
    retryAfterSeconds: 1,
  });

/** The rules that apply to a user, for display. Decisions are made by authorizers only. */
export interface AccessRules {
  readonly resource: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly nonResource: readonly { readonly verbs: readonly string[]; readonly nonResourceURLs: readonly string[] }[];
  /** Set if an authorizer cannot list its rules. */
  readonly incomplete: boolean;
  /** An error while the rules were listed. */
  readonly error?: Error | undefined;
}

/** A policy of attribute-based access control (ABAC). `*` matches all. */
export interface AbacPolicy {
  readonly user: string;
  readonly group: string;
  readonly namespace: string;
  readonly resource: string;
  readonly apiGroup: string;
  /** A whole path, or a beginning with a `*` at its end. */
  readonly nonResourcePath: string;
  /** Allows only get, list and watch. */
  readonly readonly: boolean;
}
