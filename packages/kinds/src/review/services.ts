import type { Clock } from '@cluster-apiserver/base';
import type { Asker } from '@cluster-apiserver/model';

/** What reviews ask of the server. */
export interface ReviewServices {
  readonly clock: Clock;
  /** Whose a token is, for one of the audiences, or for this API where none are named. */
  authenticateToken(token: string, audiences: readonly string[]): Promise<TokenHolder>;
  /** May this user do this? */
  authorize(question: AccessQuestion): AccessDecision | Promise<AccessDecision>;
  /** What a user may do in a namespace, as far as it can be listed. */
  rulesOf(user: Asker, namespace: string): AccessRules | Promise<AccessRules>;
}

export type TokenHolder =
  | { readonly user: Asker; readonly audiences: readonly string[] }
  | { readonly user?: undefined; readonly error: string };

export interface AccessQuestion {
  readonly user: Asker;
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
  readonly verdict: 'allow' | 'deny' | 'noOpinion';
  readonly reason?: string | undefined;
}

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
