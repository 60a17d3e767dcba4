import { beforeEach, describe, expect, test } from '@jest/globals';
import { SignJWT } from 'jose';
import {
  createAccountTokenAuthenticator,
  type FoundReferent,
  requireExistingReferents,
  signSecretToken,
  TokenRejectedError,
  type TokenAuthenticator,
  type UsedSecret,
} from '../../src/index.ts';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { keysOf } from './keys.ts';
import { call, nowSeconds, pems, referent, robot } from './use-account-tokens.ts';

const prefix = 'kubernetes.io/serviceaccount/';
const claims = {
  iss: 'kubernetes/serviceaccount',
  [`${prefix}namespace`]: 'team',
  [`${prefix}secret.name`]: 's',
  [`${prefix}service-account.name`]: 'robot',
  [`${prefix}service-account.uid`]: robot.uid,
  sub: 'system:serviceaccount:team:robot',
};

interface Objects {
  readonly Secret: FoundReferent | undefined;
  readonly ServiceAccount: FoundReferent | undefined;
}

let keys: Awaited<ReturnType<typeof keysOf>>;
let token: string;
let tokens: TokenAuthenticator;
/** In memory, and in etcd. */
let remembered: Objects;
let stored: Objects;
let freshReads: number;
let used: UsedSecret[];
let counted: string[];

const secretWith = (content: string, labels?: Readonly<Record<string, string>>): FoundReferent => ({
  ...referent('s-1'),
  labels,
  object: { metadata: { name: 's' }, data: { token: Buffer.from(content).toString('base64') } },
});
const accountWith = (...secrets: readonly unknown[]): FoundReferent => ({
  ...referent(robot.uid),
  object: { metadata: { name: 'robot' }, secrets },
});
const sign = (changed: object): Promise<string> => {
  const { key, alg, kid } = keys.signing;
  return new SignJWT({ ...claims, ...changed }).setProtectedHeader({ alg, kid }).sign(key);
};
const answerTo = async (given = token, audiences?: readonly string[]): Promise<unknown> => {
  try {
    return await tokens.authenticateToken(given, call, audiences);
  } catch (error) {
    expect(error).toBeInstanceOf(TokenRejectedError);
    return error;
  }
};

beforeEach(async () => {
  keys = await keysOf(pems.RS256);
  token = await signSecretToken(keys.signing, robot, 's');
  remembered = stored = { Secret: secretWith(token), ServiceAccount: accountWith() };
  freshReads = 0;
  used = [];
  counted = [];
  const finder = { find: async () => keys.verifying, findNewer: async () => [] };
  const clock = fakeClock(nowSeconds * 1000);
  const issuers = ['https://cluster.example', claims.iss];
  tokens = requireExistingReferents(
    createAccountTokenAuthenticator({ issuers, audiences: ['api', 'us'], keys: finder, clock }),
    {
      find: ({ kind }, freshly) => {
        if (freshly) freshReads++;
        return (freshly ? stored : remembered)[kind];
      },
      clock,
      noteUse: (secret) => void used.push(secret),
      measures: {
        all: () => void counted.push('all'),
        listed: () => void counted.push('listed'),
        manual: () => void counted.push('manual'),
        invalid: () => void counted.push('invalid'),
      },
    },
  );
});

describe('a token of a secret', () => {
  test('is the same whenever it is signed, and makes its bearer the account', async () => {
    expect(await signSecretToken(keys.signing, robot, 's')).toBe(token);
    expect(await answerTo()).toMatchObject({
      user: {
        name: 'system:serviceaccount:team:robot',
        uid: 'u-1',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:team', 'system:authenticated'],
      },
      audiences: ['api', 'us'],
    });
    expect(freshReads).toBe(0);
    expect(used).toEqual([{ namespace: 'team', name: 's', uid: 's-1' }]);
  });

  test('is for this API alone', async () => {
    expect(await answerTo(token, ['other', 'us'])).toMatchObject({ audiences: ['us'] });
    expect(await answerTo(token, ['other'])).toMatchObject({ message: expect.stringContaining('other audiences') });
  });

  test.each<[string, object]>([
    ...Object.keys(claims)
      .filter((name) => name.startsWith(prefix))
      .flatMap((name): [string, object][] => [
        [`without ${name}`, { [name]: undefined }],
        [`with an empty ${name}`, { [name]: '' }],
        [`with a number as ${name}`, { [name]: 1 }],
      ]),
    ['of another subject', { sub: 'system:serviceaccount:team:other' }],
    ['for another audience', { aud: ['other'] }],
  ])('%s is refused before anything is read', async (_, changed) => {
    remembered = { Secret: undefined, ServiceAccount: undefined };
    expect(await answerTo(await sign(changed))).toBeInstanceOf(TokenRejectedError);
    expect(freshReads).toBe(0);
  });

  test('has an issuer that others may have, too', async () => {
    const { key, alg, kid } = keys.signing;
    const own = { namespace: 'team', serviceaccount: { name: 'robot', uid: robot.uid } };
    const exp = nowSeconds + 600;
    const requested = new SignJWT({ iss: claims.iss, aud: ['us'], exp, 'kubernetes.io': own });
    const answer = await answerTo(await requested.setProtectedHeader({ alg, kid }).sign(key));
    expect(answer).toMatchObject({ user: { uid: 'u-1' }, expiresAtMs: exp * 1000 });
  });

  test('of another key, or of another issuer, is none', async () => {
    const other = await keysOf(pems.ES256);
    expect(await answerTo(await signSecretToken(other.signing, robot, 's'))).toMatchObject({
      message: expect.stringContaining('no key'),
    });
    for (const opaque of [await sign({ iss: 'https://elsewhere' }), 'opaque', 'a.b.c', ''])
      expect(await answerTo(opaque)).toBeUndefined();
  });

  test.each<[string, () => Partial<Objects>, string]>([
    ['without its secret', () => ({ Secret: undefined }), 'the secret of the token does not exist'],
    [
      'with a secret that is being deleted',
      () => ({ Secret: { ...secretWith(token), lifecycle: { deletionTimestamp: '2026-01-01T00:00:00Z' } } }),
      'the secret of the token does not exist',
    ],
    ['with another content of the secret', () => ({ Secret: secretWith('other') }), 'does not contain the token'],
    ['with an empty secret', () => ({ Secret: referent('s-1') }), 'does not contain the token'],
    ['without its account', () => ({ ServiceAccount: undefined }), 'the service account of the token does not exist'],
    [
      'with another account of the name',
      () => ({ ServiceAccount: referent('u-2') }),
      'the service account of the token does not exist',
    ],
    [
      'with an account that is being deleted',
      () => ({ ServiceAccount: referent(robot.uid, nowSeconds * 1000) }),
      'the service account of the token does not exist',
    ],
  ])('%s is refused, but not for what memory holds alone', async (_, objects, message) => {
    const living = stored;
    remembered = { ...living, ...objects() };
    expect(await answerTo()).toMatchObject({ user: { uid: 'u-1' } });
    expect(freshReads).toBe(2);
    stored = remembered;
    used = [];
    expect(await answerTo()).toMatchObject({
      message: expect.stringContaining(message),
      annotations: { 'authentication.k8s.io/legacy-token': 'system:serviceaccount:team:robot' },
    });
    expect(used).toEqual([]);
  });

  test('that is marked invalid is refused, and its use is noted', async () => {
    const Secret = secretWith(token, { 'kubernetes.io/legacy-token-invalid-since': '2026-01-01' });
    remembered = stored = { ...stored, Secret };
    expect(await answerTo()).toMatchObject({
      message: expect.stringContaining('marked invalid'),
      annotations: {
        'authentication.k8s.io/legacy-token': 'system:serviceaccount:team:robot',
        'authentication.k8s.io/legacy-token-invalidated': 's/team',
      },
    });
    expect(used).toHaveLength(1);
    expect(counted).toEqual(['all', 'invalid']);
  });

  test.each([
    ['today', '2027-01-15', 0],
    ['tomorrow', '2027-01-16', 0],
    ['yesterday', '2027-01-14', 1],
    ['at no date', 'now', 1],
  ])('that was used %s: the use is noted %s, %d times', async (_, date, times) => {
    const Secret = secretWith(token, { 'kubernetes.io/legacy-token-last-used': date });
    remembered = { ...stored, Secret };
    expect(await answerTo()).toMatchObject({ user: { uid: 'u-1' } });
    expect(used).toHaveLength(times);
  });

  test.each<[string, readonly unknown[], string, boolean]>([
    ['lists it', [{ name: 'other' }, { name: 's' }], 'autogenerated', true],
    ['lists others', [{ name: 'other' }, null], 'manual', false],
  ])('whose account %s', async (_, secrets, kind, warns) => {
    remembered = { ...stored, ServiceAccount: accountWith(...secrets) };
    const answer = (await answerTo()) as { warning?: string; annotations: object };
    expect(answer.annotations).toMatchObject({ [`authentication.k8s.io/legacy-token-${kind}-secret`]: 's' });
    expect(answer.warning !== undefined).toBe(warns);
    expect(counted).toEqual(['all', warns ? 'listed' : 'manual']);
  });
});
