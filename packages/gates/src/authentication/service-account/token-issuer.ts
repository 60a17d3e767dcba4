import type { Clock, Random } from '@cluster-apiserver/base';
import { SignJWT } from 'jose';
import { getAccountUserName } from './account-name.ts';
import { type AccountReference, type BoundSecret, toAccountClaim } from './claims.ts';
import type { SigningKey } from './keys.ts';

export interface IssuedToken {
  readonly token: string;
  readonly issuedAtMs: number;
  /** Identifies the token in audit events. */
  readonly credentialId: string;
}

export interface TokenIssuer {
  issue(
    account: AccountReference,
    options: {
      readonly audiences: readonly string[];
      readonly lifetimeSeconds: number;
      readonly secret?: BoundSecret | undefined;
    },
  ): Promise<IssuedToken>;
}

export interface TokenIssuerOptions {
  /** The claim `iss`: a URL or a name. */
  readonly issuer: string;
  /** Called for each token, because the key can be rotated. */
  readonly signingKey: () => SigningKey;
  readonly clock: Clock;
  readonly random: Random;
}

/** Signs service account tokens. Issued tokens are not stored. */
export const createTokenIssuer = ({ issuer, signingKey, clock, random }: TokenIssuerOptions): TokenIssuer => ({
  issue: async (account, { audiences, lifetimeSeconds, secret }) => {
    const { key, kid, alg } = signingKey();
    const issuedAtMs = clock.now();
    const now = Math.floor(issuedAtMs / 1000);
    const jti = random.uuid();
    const token = await new SignJWT({
      aud: [...audiences],
      exp: now + lifetimeSeconds,
      iat: now,
      iss: issuer,
      jti,
      ...toAccountClaim(account, secret),
      nbf: now,
      sub: getAccountUserName(account),
    })
      .setProtectedHeader({ alg, kid })
      .sign(key);
    return { token, issuedAtMs, credentialId: `JTI=${jti}` };
  },
});
