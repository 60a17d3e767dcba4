/** What the kinds ask of the server. */
export interface KindServices {
  /** How long an event is kept after its last write. */
  readonly eventLifetimeSeconds: number;
  /** Undefined when there is nothing to sign tokens with; then nobody can ask for one. */
  readonly serviceAccountTokens?: ServiceAccountTokens | undefined;
}

/** Makes tokens with which to act as a service account. */
export interface ServiceAccountTokens {
  /** Whom a token is for when nobody is named: this API. */
  readonly audiences: readonly string[];
  /** What is asked for beyond this is shortened; undefined for no such bound. */
  readonly lifetimeSecondsMax: number | undefined;
  issue(
    account: { readonly namespace: string; readonly name: string; readonly uid: string },
    options: { readonly audiences: readonly string[]; readonly lifetimeSeconds: number },
  ): Promise<{ readonly token: string; readonly issuedAtMs: number }>;
}
