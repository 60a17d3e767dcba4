import { beforeEach, describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { prefixedClaims } from './prefixed-claims.ts';
import { useIssuer } from './use-issuer.ts';

const issuer = useIssuer();
const { authenticate, claims, configure, rejection } = issuer;

const names = { _claim_names: { groups: 'elsewhere' } };
const sourceOf = (source: object) => ({ ...names, _claim_sources: { elsewhere: source } });
const endpoint = (): string => `${issuer.provider.url}/groups`;
const pointer = (): object => sourceOf({ endpoint: endpoint(), access_token: 'secret' });
const withoutGroups = (part: object): ReturnType<typeof claims> => {
  const { groups: _, ...others } = claims({ ...part });
  return others;
};

/** The credentials that the endpoint was asked with. */
let credentials: (string | undefined)[];
const serve = (answer: () => string | Promise<string>, status = 200): void =>
  void issuer.provider.answers.set('/groups', (response) => {
    credentials.push(response.req.headers.authorization);
    response.statusCode = status;
    void Promise.resolve(answer()).then((text) => response.end(text));
  });
beforeEach(() => {
  credentials = [];
});

describe('a token whose groups are elsewhere', () => {
  test('has the groups of the token at the endpoint, which gets the access token', async () => {
    serve(() => issuer.provider.sign(claims({ groups: ['c', 'd'] })));
    const user = await authenticate(await issuer.provider.sign(withoutGroups(pointer())));
    expect(user).toMatchObject({ name: 'p:al', groups: ['g:c', 'g:d', 'system:authenticated'] });
    expect(credentials).toEqual(['Bearer secret']);
  });

  test('has more groups than fit into a token', async () => {
    const groups = Array.from({ length: 3_000 }, (_, at) => `department-${at}-with-a-long-name`);
    serve(() => issuer.provider.sign(claims({ groups })));
    const user = await authenticate(await issuer.provider.sign(withoutGroups(pointer())));
    expect(user?.groups).toHaveLength(3_001);
  });

  test('keeps its own groups if it has some', async () => {
    serve(() => 'never asked');
    const user = await authenticate(await issuer.provider.sign(claims({ ...pointer() })));
    expect(user?.groups).toEqual(['g:a', 'g:b', 'system:authenticated']);
    expect(credentials).toEqual([]);
  });

  test.each<[string, () => object]>([
    ['names another claim', () => ({ _claim_names: { roles: 'elsewhere' }, _claim_sources: {} })],
    ['has an aggregated claim', () => sourceOf({ JWT: 'a.b.c' })],
    ['names nothing', () => ({})],
  ])('has no groups if it %s', async (_, part) => {
    const user = await authenticate(await issuer.provider.sign(withoutGroups(part())));
    expect(user?.groups).toEqual(['system:authenticated']);
  });

  test.each<[string, () => object, RegExp]>([
    ['has no sources', () => names, /_claim_sources is no object/],
    ['names a source that is missing', () => ({ ...names, _claim_sources: {} }), /lacks the source/],
    ['names no object', () => ({ _claim_names: 'groups' }), /_claim_names is no object/],
    ['names an endpoint without TLS', () => sourceOf({ endpoint: 'http://localhost/groups' }), /no URL with https/],
    ['names no URL', () => sourceOf({ endpoint: 7 }), /no URL with https/],
  ])('is rejected if it %s', async (_, part, problem) => {
    expect((await rejection(await issuer.provider.sign(withoutGroups(part())))).message).toMatch(problem);
  });

  const expired = () => issuer.provider.sign(claims({ exp: 1 }));
  test.each<[string, () => string | Promise<string>, number, RegExp]>([
    ['fails', () => '', 503, /cannot be reached/],
    ['redirects', () => '', 302, /cannot be reached/],
    ['answers with no token', () => '{}', 200, /does not answer with a token/],
    ['answers with more than is read', () => 'x'.repeat(2_000_000), 200, /cannot be reached/],
    ['answers with an expired token', expired, 200, /expired/],
    ['answers for another audience', () => issuer.provider.sign(claims({ aud: 'other' })), 200, /other audiences/],
    ['has no groups either', () => issuer.provider.sign(withoutGroups({})), 200, /does not have it/],
    [
      'answers with groups that are none',
      () => issuer.provider.sign(claims({ groups: [7] })),
      200,
      /groups is no text/,
    ],
    [
      'answers with a changed token',
      async () => (await issuer.provider.sign(claims())).replace(/.{4}$/, 'AAAA'),
      200,
      /no key of the issuer/,
    ],
    ['answers for an issuer without TLS', () => issuer.provider.sign(claims({ iss: 'http://a' })), 200, /with https/],
  ])('is rejected if the endpoint %s', async (_, answer, status, problem) => {
    serve(answer, status);
    expect((await rejection(await issuer.provider.sign(withoutGroups(pointer())))).message).toMatch(problem);
  });

  test('is rejected with 429 while too many others wait', async () => {
    const release = Promise.withResolvers<string>();
    serve(() => release.promise);
    const token = await issuer.provider.sign(withoutGroups(pointer()));
    const waiting = Array.from({ length: 100 }, async () => authenticate(token));
    await untilTurned(() => credentials.length === waiting.length);
    await expect(authenticate(token)).rejects.toMatchObject({ code: 429 });
    release.resolve(await issuer.provider.sign(claims()));
    await Promise.allSettled(waiting);
  });
});

test('groups that no claim gives are not resolved', async () => {
  serve(() => 'never asked');
  configure({ claimMappings: { ...prefixedClaims, groups: undefined } });
  const user = await authenticate(await issuer.provider.sign(withoutGroups(pointer())));
  expect(user?.groups).toEqual(['system:authenticated']);
  expect(credentials).toEqual([]);
});
