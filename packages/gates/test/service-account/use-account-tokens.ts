import { createMetrics } from '@cluster-apiserver/telemetry';
import { beforeEach, expect } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { type JWTHeaderParameters, SignJWT } from 'jose';
import {
  type AccountAnswer,
  createAccountTokenAuthenticator,
  createKeyFinder,
  createTokenIssuer,
  type FoundReferent,
  createSecretTokenMeasures,
  requireExistingReferents,
  type ServiceAccountKeys,
  type TokenAuthenticator,
  TokenRejectedError,
} from '../../src/index.ts';
import { ecKey, keysOf, rsaKey } from './keys.ts';

export const call = callUntil(Number.POSITIVE_INFINITY);

export const url = 'https://cluster.example';
export const nowSeconds = 1_800_000_000;
export const robot = { namespace: 'team', name: 'robot', uid: 'u-1' };
/** The claims of the robot's tokens about itself. */
export const own = { namespace: 'team', serviceaccount: { name: 'robot', uid: 'u-1' } };
export const pems = { RS256: rsaKey(), ES256: ecKey(), ES384: ecKey('P-384'), ES512: ecKey('P-521') };

/** An object that exists, under deletion since the time. */
export const referent = (uid: string, deletedAtMs?: number): FoundReferent => {
  const deletionTimestamp = deletedAtMs === undefined ? undefined : new Date(deletedAtMs).toISOString();
  return { uid, labels: undefined, lifecycle: { deletionTimestamp }, object: { metadata: { uid } } };
};

/** Accepts the tokens of accounts that exist. */
export interface AccountTokens extends TokenAuthenticator {
  readonly clock: FakeClock;
  keys: ServiceAccountKeys;
  /** What the next reload of the files finds. */
  inFiles: ServiceAccountKeys;
  readonly reloads: number;
  /** The account in memory. */
  remembered: FoundReferent | undefined;
  /** The account in the store. */
  stored: FoundReferent | undefined;
  /** The secret that tokens are bound to. */
  secret: FoundReferent | undefined;
  /** How often the store was read. */
  readonly storeReads: number;
  /** Accepts the tokens of deleted accounts, too. */
  readonly signed: TokenAuthenticator<AccountAnswer>;
  readonly issue: (audiences?: string[], lifetimeSeconds?: number) => Promise<string>;
  /** A token with these claims and our signature. */
  readonly signedWith: (claims: object, header?: Partial<JWTHeaderParameters>) => Promise<string>;
  /** The answer, or the error. A token that waits for the next reload of the files is given the time for it. */
  readonly answerTo: (token: string, audiences?: readonly string[]) => Promise<unknown>;
  readonly refusal: (token: string, audiences?: readonly string[]) => Promise<string>;
}

/** Tokens of the robot, and an authenticator of them for each test. */
export function useAccountTokens(): AccountTokens {
  let existing: TokenAuthenticator;
  // The rest is set before each test.
  const tokens = {
    authenticateToken: (...given) => existing.authenticateToken(...given),
    issue: async (audiences = [url], lifetimeSeconds = 600) => {
      const { clock } = tokens;
      const signingKey = () => tokens.keys.signing;
      const issuer = createTokenIssuer({ issuer: url, signingKey, clock, random: seededRandom(1) });
      return (await issuer.issue(robot, { audiences, lifetimeSeconds })).token;
    },
    signedWith: (claims, header = {}) => {
      const { alg, kid, key } = tokens.keys.signing;
      const times = { exp: nowSeconds + 600, nbf: nowSeconds, iat: nowSeconds };
      return new SignJWT({ iss: url, aud: [url], ...times, 'kubernetes.io': own, ...claims })
        .setProtectedHeader({ alg, kid, ...header })
        .sign(key);
    },
    answerTo: async (token, audiences) => {
      let open = true;
      const answer = (async () => existing.authenticateToken(token, call, audiences))()
        .catch((thrown: unknown) => thrown)
        .finally(() => (open = false));
      while (open) {
        await new Promise((resolve) => setImmediate(resolve));
        if (open && tokens.clock.waiting > 0) tokens.clock.advance(1_000);
      }
      return answer;
    },
    refusal: async (token, audiences) => {
      const error = await tokens.answerTo(token, audiences);
      expect(error).toBeInstanceOf(TokenRejectedError);
      return (error as Error).message;
    },
  } as { -readonly [Field in keyof AccountTokens]: AccountTokens[Field] };

  beforeEach(async () => {
    const clock = (tokens.clock = fakeClock(nowSeconds * 1000));
    tokens.keys = tokens.inFiles = await keysOf(pems.ES256);
    tokens.reloads = tokens.storeReads = 0;
    tokens.secret = undefined;
    tokens.remembered = tokens.stored = referent(robot.uid);
    const reload = async (): Promise<void> => {
      tokens.reloads++;
      await Promise.resolve();
      tokens.keys = tokens.inFiles;
    };
    tokens.signed = createAccountTokenAuthenticator({
      issuers: [url, 'https://before.example'],
      audiences: [url, 'api'],
      keys: createKeyFinder({ keys: () => tokens.keys.verifying, reload, clock }),
      clock,
    });
    existing = requireExistingReferents(tokens.signed, {
      find: async ({ kind }, freshly) => {
        if (kind === 'Secret') return tokens.secret;
        if (freshly) tokens.storeReads++;
        return freshly ? tokens.stored : tokens.remembered;
      },
      clock,
      noteUse: () => {},
      measures: createSecretTokenMeasures(createMetrics({ ofProcess: false })),
    });
  });
  return tokens;
}
