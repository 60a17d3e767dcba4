import { StatusError } from './status.ts';

/** Who is asking. */
export interface UserInfo {
  readonly name: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** May this user do this? */
export interface AccessQuestion {
  readonly user: UserInfo;
  readonly verb: string;
  readonly path: string;
  /** Undefined for paths that are no resources. */
  readonly resource?: ResourceQuestion | undefined;
}

export interface ResourceQuestion {
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
   * `deny` ends the question, `noOpinion` hands it on. `notReady` hands it on, too, and if nobody else decides, it was
   * asked before what decides it is known: the caller is told to come again.
   */
  readonly verdict: 'allow' | 'deny' | 'noOpinion' | 'notReady';
  /** For the caller, so it names no secrets. */
  readonly reason?: string | undefined;
  /** What went wrong while it was decided. The decision counts all the same. */
  readonly error?: Error | undefined;
  /** For the audit event of the request. */
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The answer to a question that nobody can decide yet. */
export const decisionNotReady = (): StatusError =>
  new StatusError('ServiceUnavailable', 'the server is not ready to authorize requests; please try again', {
    retryAfterSeconds: 1,
  });

/** What a user may do, as a list: for showing it to people, and never for deciding by it. */
export interface AccessRules {
  readonly resource: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly resourceNames?: readonly string[];
  }[];
  readonly nonResource: readonly { readonly verbs: readonly string[]; readonly nonResourceURLs: readonly string[] }[];
  /** Set when somebody decides who cannot say beforehand what. */
  readonly incomplete: boolean;
  /** What went wrong while they were gathered. */
  readonly error?: Error | undefined;
}

/** What one subject may do by attribute-based access control. `*` stands for all. */
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
