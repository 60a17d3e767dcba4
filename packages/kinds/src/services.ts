/** The services of the server that kinds use. */
export interface KindServices {
  /** How long an event is kept after its last write. */
  readonly eventLifetimeSeconds: number;
  /** Undefined without a signing key: then there is no token subresource. */
  readonly serviceAccountTokens?: ServiceAccountTokens | undefined;
}

/** Makes tokens with which to act as a service account. */
export interface ServiceAccountTokens {
  /** The default audiences: those of this API. */
  readonly audiences: readonly string[];
  /** Longer requested lifetimes are shortened; undefined for no bound. */
  readonly lifetimeSecondsMax: number | undefined;
  issue(
    account: { readonly namespace: string; readonly name: string; readonly uid: string },
    options: {
      readonly audiences: readonly string[];
      readonly lifetimeSeconds: number;
      /** The token is valid only while this object exists. */
      readonly secret?: { readonly name: string; readonly uid: string } | undefined;
    },
  ): Promise<{ readonly token: string; readonly issuedAtMs: number; readonly credentialId: string }>;
}
