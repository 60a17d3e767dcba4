import { describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { untilTurned as waitFor } from '@cluster-apiserver/testkit/until';
import { type Answer, startProvider } from './provider.ts';
import { al, call, nowSeconds, useIssuer } from './use-issuer.ts';

const issuer = useIssuer();
const { authenticate, claims, configure, rejection } = issuer;

describe('keys', () => {
  const unknown = (): Promise<string> => issuer.provider.sign(claims(), { kid: 'unknown' });
  const fetches = (): number => issuer.provider.asked.filter((path) => path === '/keys').length;

  test('are fetched once for concurrent requests', async () => {
    const token = await issuer.provider.sign(claims());
    expect(await Promise.all(Array.from({ length: 50 }, () => authenticate(token)))).toEqual(
      Array.from({ length: 50 }, () => al),
    );
    expect(fetches()).toBe(1);
  });

  test('that were just rotated in are accepted, whenever the keys were last fetched', async () => {
    await authenticate(await issuer.provider.sign(claims()));
    await issuer.provider.rotate('second');
    const soon = authenticate(await issuer.provider.sign(claims()));
    await waitFor(() => issuer.clock.waiting > 0);
    expect(fetches()).toBe(1);
    issuer.clock.advance(10_000);
    expect(await soon).toEqual(al);
    issuer.clock.advance(60_000);
    issuer.provider.published = [];
    await issuer.provider.rotate('third');
    expect(await authenticate(await issuer.provider.sign(claims({ exp: nowSeconds + 600 })))).toEqual(al);
    expect(fetches()).toBe(3);
  });

  test('(JWKS flood with unknown kids) that are unknown cause one fetch in ten seconds, however many tokens name them', async () => {
    const token = await unknown();
    for (let round = 0; round < 3; round++) {
      let open = 200;
      for (let count = open; count > 0; count--) void rejection(token).then(() => open--);
      await waitFor(() => {
        if (issuer.clock.waiting > 0 && issuer.fetching === 0) issuer.clock.advance(1000);
        return open === 0;
      });
    }
    expect(issuer.askedAtMs.length).toBeGreaterThan(2);
    for (const [index, atMs] of issuer.askedAtMs.slice(1).entries())
      expect(atMs - (issuer.askedAtMs[index] as number)).toBeGreaterThanOrEqual(10_000);
  });

  test('that are known stay valid while the issuer is unavailable', async () => {
    const token = await issuer.provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    issuer.provider.answers.set('/.well-known/openid-configuration', fail);
    for (let days = 0; days < 5; days++) {
      issuer.clock.advance(86_400_000);
      expect(await authenticate(token)).toEqual(al);
    }
  });

  test('that have not been used for a week are fetched again before use', async () => {
    const token = await issuer.provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    issuer.provider.published = [];
    issuer.clock.advance(7 * 86_400_000);
    let open = true;
    const refused = rejection(token).finally(() => (open = false));
    await waitFor(() => {
      if (open && issuer.clock.waiting > 0 && issuer.fetching === 0) issuer.clock.advance(1_000);
      return !open;
    });
    expect((await refused).message).toContain('no key');
  });

  test('stay valid for a week at most while the issuer is unavailable', async () => {
    const token = await issuer.provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    issuer.provider.answers.set('/.well-known/openid-configuration', fail);
    issuer.clock.advance(7 * 86_400_000);
    expect(await authenticate(token)).toEqual(al);
    issuer.clock.advance(10_000);
    expect((await rejection(token)).message).toContain('cannot be fetched');
  });

  test('that were added recently are fetched for a token without kid', async () => {
    await authenticate(await issuer.provider.sign(claims()));
    await issuer.provider.rotate('second');
    const token = await issuer.provider.sign(claims(), { kid: undefined });
    expect((await rejection(token)).message).toContain('no key');
    issuer.clock.advance(10_000);
    expect(await authenticate(token)).toEqual(al);
  });

  test('are fetched once in ten seconds, however many forged tokens come', async () => {
    const token = await issuer.provider.sign(claims());
    await authenticate(token);
    const forged = `${token.slice(0, -8)}AAAAAAAA`;
    for (let count = 0; count < 50; count++) await rejection(forged);
    expect(fetches()).toBe(1);
    issuer.clock.advance(10_000);
    for (let count = 0; count < 50; count++) await rejection(forged);
    expect(fetches()).toBe(2);
  });

  test('are not awaited by a caller that disconnects, and are fetched for the others', async () => {
    const answer = Promise.withResolvers<Answer>();
    issuer.provider.answers.set('/keys', answer.resolve);
    const token = await issuer.provider.sign(claims());
    const gone = new AbortController();
    const leaving = authenticate(token, { ...call, signal: gone.signal });
    const staying = authenticate(token);
    const held = await answer.promise;
    gone.abort(new Error('the client left'));
    await expect(leaving).rejects.toThrow('the client left');
    held.end(JSON.stringify({ keys: issuer.provider.published }));
    expect(await staying).toEqual(al);
  });

  test('of an issuer that does not answer are requested once in ten seconds, and tokens do not wait', async () => {
    issuer.provider.answers.set('/.well-known/openid-configuration', fail);
    const token = await issuer.provider.sign(claims());
    for (let count = 0; count < 20; count++) expect((await rejection(token)).message).toContain('cannot be fetched');
    expect(issuer.askedAtMs).toEqual([nowSeconds * 1000]);
    issuer.provider.answers.clear();
    issuer.clock.advance(10_000);
    expect(await authenticate(token)).toEqual(al);
  });

  test('of an issuer that hangs are not requested again right after the timeout', async () => {
    issuer.provider.answers.set('/.well-known/openid-configuration', () => {});
    const token = await issuer.provider.sign(claims());
    const first = rejection(token);
    await waitFor(() => issuer.fetching === 1 && issuer.clock.waiting > 0);
    issuer.clock.advance(30_000);
    expect((await first).message).toContain('cannot be fetched');
    for (let count = 0; count < 20; count++) {
      issuer.clock.advance(400);
      expect((await rejection(token)).message).toContain('cannot be fetched');
    }
    expect(issuer.askedAtMs).toHaveLength(1);
  });

  test('of RSA with which everybody could sign are not used', async () => {
    const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true });
    const { n = '' } = await exportJWK(publicKey);
    const sign = (kid: string): Promise<string> =>
      new SignJWT(claims()).setProtectedHeader({ alg: 'RS256', kid }).sign(privateKey);
    const exponents = { one: 'AQ', even: 'AQAA', huge: 'AQAAAAE', usual: 'AQAB' };
    issuer.provider.published = Object.entries(exponents).map(([kid, e]) => ({ kty: 'RSA', n, e, kid }));
    expect(await authenticate(await sign('usual'))).toEqual(al);
    for (const kid of ['one', 'even', 'huge']) {
      const pending = rejection(await sign(kid));
      await waitFor(() => issuer.clock.waiting > 0);
      issuer.clock.advance(10_000);
      expect((await pending).message).toContain('no key of the issuer');
    }
  });

  test('that a thousand tokens wait for cost further ones a retry, not a rejection', async () => {
    await authenticate(await issuer.provider.sign(claims()));
    const token = await unknown();
    const waiting = Array.from({ length: 1_000 }, () => rejection(token));
    await issuer.provider.rotate('second');
    await expect(authenticate(await issuer.provider.sign(claims()))).rejects.toMatchObject({ code: 429 });
    await waitFor(() => issuer.clock.waiting > 0);
    issuer.clock.advance(10_000);
    await Promise.all(waiting);
  });

  test('that the issuer has withdrawn are dropped after a while', async () => {
    const token = await issuer.provider.sign(claims({ exp: nowSeconds + 1e6 }));
    await authenticate(token);
    issuer.provider.published = [];
    issuer.clock.advance(600_001);
    expect(await authenticate(token)).toEqual(al); // asks beside this request
    await waitFor(() => fetches() === 2);
    await waitFor(
      async () => (issuer.clock.advance(10_000), (await authenticate(token).catch(() => 'refused')) === 'refused'),
    );
  });

  test.each<[string, string, (answer: Answer) => void]>([
    [
      'another issuer',
      '/.well-known/openid-configuration',
      (answer) => answer.end(JSON.stringify({ issuer: 'https://x', jwks_uri: `${issuer.provider.url}/keys` })),
    ],
    [
      'keys without TLS',
      '/.well-known/openid-configuration',
      (answer) => answer.end(JSON.stringify({ issuer: issuer.provider.url, jwks_uri: 'http://localhost/keys' })),
    ],
    [
      'no address of keys',
      '/.well-known/openid-configuration',
      (answer) => answer.end(JSON.stringify({ issuer: issuer.provider.url })),
    ],
    ['a redirect', '/keys', (answer) => answer.writeHead(302, { location: `${issuer.provider.url}/elsewhere` }).end()],
    ['no JSON', '/keys', (answer) => answer.end('<html>')],
    ['no list', '/keys', (answer) => answer.end('{"keys":{}}')],
    ['more than anybody needs', '/keys', (answer) => answer.end(' '.repeat(2 * 1024 * 1024))],
    [
      'more keys than anybody needs',
      '/keys',
      (answer) => answer.end(JSON.stringify({ keys: Array.from({ length: 51 }, () => ({ kty: 'RSA' })) })),
    ],
    ['half an answer', '/keys', (answer) => (answer.write('{"keys":['), answer.destroy())],
  ])('(Discovery issuer mismatch; redirects; SSRF) are not taken from %s', async (_, path, respond) => {
    issuer.provider.answers.set(path, respond);
    expect((await rejection(await issuer.provider.sign(claims()))).message).toContain('cannot be fetched');
    expect(issuer.provider.asked).not.toContain('/elsewhere');
  });

  test('are not accepted from a server with an untrusted certificate', async () => {
    const stranger = await startProvider();
    try {
      configure({ discoveryUrl: `${stranger.url}/.well-known/openid-configuration` });
      expect((await rejection(await issuer.provider.sign(claims()))).message).toContain('cannot be fetched');
      expect(stranger.asked).toEqual([]);
    } finally {
      await stranger.close();
    }
  });

  test("can be discovered at another URL than the issuer's", async () => {
    configure({ discoveryUrl: `${issuer.provider.url}/discover` });
    expect(await authenticate(await issuer.provider.sign(claims()))).toEqual(al);
    expect(issuer.provider.asked).toEqual(['/discover', '/keys']);
  });
});

const fail = (answer: Answer): void => void answer.writeHead(503).end();
