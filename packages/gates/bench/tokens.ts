/**
 * What authentication costs, in CPU time for each request. `node --conditions=source packages/gates/bench/tokens.ts`
 */
import { createMetrics } from '@cluster-apiserver/telemetry';
import { callUntil, seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import {
  createBearerTokenAuthenticator,
  createTokenCaches,
  uniteAuthenticators,
  uniteTokenAuthenticators,
  DistributedClaims,
  IssuerKeys,
  createJwtAuthenticator,
  withAnonymous,
  createStaticTokenAuthenticator,
  type TokenAuthenticator,
} from '../src/index.ts';
import { bringing } from '../test/credentials.ts';
import { prefixedClaims } from '../test/oidc/prefixed-claims.ts';

const call = callUntil(Number.POSITIVE_INFINITY);

const url = 'https://issuer.example.com';
const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
const published = { keys: [{ ...(await exportJWK(publicKey)), kid: 'a', alg: 'ES256', use: 'sig' }] };
const sources = {
  fetch: async (place: string) =>
    JSON.stringify(place.endsWith('keys') ? published : { issuer: url, jwks_uri: `${url}/keys` }),
  clock,
  signal: new AbortController().signal,
  fetched: () => {},
};
const keys = new IssuerKeys({ ...sources, address: { url, discoveryUrl: undefined } });
const signed = createJwtAuthenticator(
  [
    {
      issuer: { url, audiences: ['cluster'] },
      keys,
      distributedClaims: new DistributedClaims(sources),
      claimRules: [],
      claimMappings: prefixedClaims,
      userRules: [],
    },
  ],
  clock,
);
const token = await new SignJWT({ iss: url, aud: 'cluster', sub: 'al', groups: ['a', 'b', 'c'], pad: 'x'.repeat(300) })
  .setProtectedHeader({ alg: 'ES256', kid: 'a' })
  .setExpirationTime('1h')
  .sign(privateKey);
const file = createStaticTokenAuthenticator('secret,alice,u1');

async function measured(what: string, count: number, tokens: TokenAuthenticator): Promise<void> {
  const authenticator = withAnonymous(
    uniteAuthenticators([createBearerTokenAuthenticator(uniteTokenAuthenticators([file, tokens]))]),
    () => false,
  );
  const credentials = {
    ...bringing({ authorization: `Bearer ${token}` }),
    path: '/api/v1/namespaces/a/serviceaccounts/b',
  };
  const run = async (): Promise<void> => {
    for (let done = 0; done < count; done++) {
      const user = authenticator.authenticate(credentials, call);
      if (user instanceof Promise) await user;
    }
  };
  await run();
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  console.log(`${what}: ${((user + system) / count).toFixed(2)} µs`);
}

const createCache = createTokenCaches(clock, seededRandom(1), createMetrics({ ofProcess: false }));
await measured('a token that is seen for the first time', 5_000, signed);
await measured('a token that is remembered', 300_000, createCache(signed, 3_600_000));
