import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { type Call, callUntil } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import type { JWTPayload } from 'jose';
import {
  createDocumentFetcher,
  createHttpsClient,
  createJwtAuthenticator,
  DistributedClaims,
  IssuerKeys,
  type JwtIssuer,
  TokenRejectedError,
} from '../../src/index.ts';
import { prefixedClaims } from './prefixed-claims.ts';
import { type Provider, startProvider } from './provider.ts';

export const call = callUntil(Number.POSITIVE_INFINITY);
export const nowSeconds = 1_800_000_000;

/** The user of the claims that a token has by default. */
export const al = { name: 'p:al', groups: ['g:a', 'g:b', 'system:authenticated'] };

export interface Issuer {
  readonly provider: Provider;
  readonly clock: FakeClock;
  /** How many documents of the issuer are being fetched. */
  readonly fetching: number;
  /** When the issuer was asked where its keys are. */
  readonly askedAtMs: readonly number[];
  /** Replaces the authenticator by one with a new clock, and nothing fetched yet. */
  readonly configure: (part: Partial<JwtIssuer> & { readonly discoveryUrl?: string }) => void;
  readonly authenticate: (token: string, as?: Call) => Promise<UserInfo | undefined>;
  readonly rejection: (token: string) => Promise<TokenRejectedError>;
  /** Some of them are wrong on purpose, so their types are not looked at. */
  readonly claims: (part?: Readonly<Record<string, unknown>>) => JWTPayload;
}

/** An issuer behind TLS, and an authenticator of its tokens for each test. */
export function useIssuer(): Issuer {
  let provider: Provider;
  let clock: FakeClock;
  let fetching = 0;
  let askedAtMs: number[];
  let current: Issuer['authenticate'];
  const stopped = new AbortController();

  beforeAll(async () => {
    provider = await startProvider();
  });
  afterAll(async () => {
    stopped.abort(new Error('the test is over'));
    await provider.close();
  });
  beforeEach(async () => {
    provider.answers.clear();
    provider.published = [];
    await provider.rotate('first');
    provider.asked.length = 0;
    configure({});
  });

  const configure: Issuer['configure'] = ({ discoveryUrl, ...part }) => {
    clock = fakeClock(nowSeconds * 1000);
    askedAtMs = [];
    const get = createDocumentFetcher(createHttpsClient({ clock, ca: provider.certificateAuthority }), clock);
    const sources = {
      fetch: async (...[url, ...others]: Parameters<typeof get>) => {
        if (url.endsWith('configuration')) askedAtMs.push(clock.monotonicMs());
        fetching++;
        return get(url, ...others).finally(() => fetching--);
      },
      clock,
      signal: stopped.signal,
      fetched: () => {},
    };
    const configured: JwtIssuer = {
      issuer: { url: provider.url, audiences: ['cluster'] },
      keys: new IssuerKeys({ ...sources, address: { url: provider.url, discoveryUrl } }),
      distributedClaims: new DistributedClaims(sources),
      claimRules: [],
      claimMappings: prefixedClaims,
      userRules: [],
      ...part,
    };
    const authenticator = createJwtAuthenticator([configured], clock);
    current = async (token, as = call) => (await authenticator.authenticateToken(token, as))?.user;
  };

  const authenticate: Issuer['authenticate'] = (token, as) => current(token, as);
  return {
    get provider() {
      return provider;
    },
    get clock() {
      return clock;
    },
    get fetching() {
      return fetching;
    },
    get askedAtMs() {
      return askedAtMs;
    },
    configure,
    authenticate,
    rejection: async (token) => {
      const error: unknown = await authenticate(token).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(TokenRejectedError);
      return error as TokenRejectedError;
    },
    claims: (part = {}) => ({
      iss: provider.url,
      aud: ['other', 'cluster'],
      sub: 'al',
      exp: nowSeconds + 60,
      groups: ['a', 'b'],
      ...part,
    }),
  };
}
