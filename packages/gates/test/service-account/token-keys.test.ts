import { describe, expect, test } from '@jest/globals';
import { createIssuerMetadata } from '../../src/index.ts';
import { ecKey, keysOf } from './keys.ts';
import { call, pems, robot, url, useAccountTokens } from './use-account-tokens.ts';

const tokens = useAccountTokens();
const { answerTo, issue, refusal, signedWith } = tokens;

describe('keys', () => {
  test('that another replica already uses are found by reloading the files at once', async () => {
    const before = tokens.keys;
    tokens.keys = tokens.inFiles = await keysOf(pems.RS256);
    const token = await issue();
    tokens.keys = before;
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
    expect(tokens.reloads).toBe(1);
  });

  test('that are unknown cause one reload of the files per second, however many tokens name them', async () => {
    for (let round = 1; round <= 3; round++) {
      const flood = Array.from({ length: 100 }, (_, at) => signedWith({}, { kid: `made-up-${round}-${at}` }));
      for (const token of await Promise.all(flood)) void refusal(token);
      await refusal(await signedWith({}, { kid: 'last' }));
      expect(tokens.reloads).toBeLessThanOrEqual(tokens.clock.monotonicMs() / 1_000 + 1);
    }
  });

  test('that another replica already uses are found for a token without kid', async () => {
    const before = tokens.keys;
    tokens.keys = tokens.inFiles = await keysOf(ecKey());
    const token = await signedWith({}, { kid: undefined as never });
    tokens.keys = before;
    expect(await answerTo(token)).toMatchObject({ account: robot });
  });

  test('are not awaited by a caller that disconnects', async () => {
    const gone = new AbortController();
    await refusal(await signedWith({}, { kid: 'made-up' }));
    const waiting = tokens.authenticateToken(await signedWith({}, { kid: 'another' }), {
      ...call,
      signal: gone.signal,
    });
    gone.abort(new Error('the client left'));
    await expect(waiting).rejects.toThrow('the client left');
  });

  test('that were removed are not accepted any more', async () => {
    const token = await issue();
    tokens.keys = tokens.inFiles = await keysOf(pems.RS256);
    expect(await refusal(token)).toContain('no key');
  });

  test('are selected by kid, and all are tried for a token without kid', async () => {
    const [old, next] = [tokens.keys, await keysOf(ecKey())];
    const token = await signedWith({}, { kid: undefined as never });
    tokens.keys = tokens.inFiles = { signing: next.signing, verifying: [...next.verifying, ...old.verifying] };
    expect(await tokens.authenticateToken(token, call)).toBeDefined();
  });

  test('are published with the algorithms that they are for', async () => {
    const both = { ...tokens.keys, verifying: [...tokens.keys.verifying, ...(await keysOf(pems.RS256)).verifying] };
    expect(createIssuerMetadata(url, `${url}/keys`, both)).toEqual({
      issuer: url,
      jwks_uri: `${url}/keys`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256'],
    });
  });
});

test('JWKS flood with unknown kids: however many tokens come at once, the files are read twice at most', async () => {
  const flood = await Promise.all(Array.from({ length: 500 }, (_, at) => signedWith({}, { kid: `made-up-${at}` })));
  await Promise.all(flood.map((token) => refusal(token)));
  expect(tokens.reloads).toBeLessThanOrEqual(2);
});
