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
  readonly name: string | undefined;
}

export interface AccessDecision {
  /** `deny` ends the question, `noOpinion` hands it on. */
  readonly verdict: 'allow' | 'deny' | 'noOpinion';
  /** For the caller, so it names no secrets. */
  readonly reason?: string | undefined;
}

/** What a user may do, as a list: for showing it to people, and never for deciding by it. */
export interface AccessRules {
  readonly resource: readonly {
    readonly verbs: readonly string[];
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
  }[];
  readonly nonResource: readonly { readonly verbs: readonly string[]; readonly nonResourceURLs: readonly string[] }[];
  /** Set when somebody decides who cannot say beforehand what. */
  readonly incomplete: boolean;
}
