import type { Random } from '@cluster-apiserver/base';
import { choose, chooseSome } from '../../test/hostile/choose.ts';
import { fieldOf, type FuzzContext, type RequestInput, type Response } from '../input.ts';
import { mutateJson } from '../mutate-json.ts';
import { request, type Generator } from './generator.ts';

const selfReview = {
  method: 'POST',
  target: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
  body: { contentType: 'application/json', bytes: Buffer.from('{}') },
} as const;

/** A mutated real token. No mutation of the signed part may authenticate. */
export const token: Generator = (random, context) => {
  const forged = choose(random, forgeries)(random, context);
  const scheme = choose(random, [
    'Bearer ',
    'Bearer ',
    'Bearer ',
    'Bearer ',
    'bearer ',
    'Bearer  ',
    'Bearer\t',
    'Basic ',
    '',
  ]);
  return request(random, context, { ...selfReview, headers: [['authorization', `${scheme}${forged}`]] }, (response) => {
    if (response.status >= 300 || isSigned(forged.trim(), context)) return undefined;
    return usernameOf(response) === 'system:anonymous' ? undefined : 'a forged token was accepted';
  });
};

/** Whether a token has the same signed content and signature as a real one, in any encoding. */
const isSigned = (text: string, { serviceAccountToken, token: administrator }: FuzzContext): boolean =>
  text === administrator || decoded(text) === decoded(serviceAccountToken);
const decoded = (text: string): string =>
  text
    .split('.')
    .map((part) => Buffer.from(part, 'base64url').toString('hex'))
    .join('.');

const algorithms = ['none', 'None', 'HS256', 'RS256', 'ES256', 'ES512', 'PS256', 'EdDSA', '', null, 5, ['ES256']];

const forgeries: readonly ((random: Random, context: FuzzContext) => string)[] = [
  (_, { serviceAccountToken }) => serviceAccountToken,
  (random, context) => {
    const [head, payload, signature] = partsOf(context);
    const changed = {
      ...head,
      alg: choose<unknown>(random, algorithms),
      kid: choose<unknown>(random, [head['kid'], '', '../x', 1, undefined]),
    };
    return `${encode(mutateJson(random, changed, 1))}.${payload}.${choose(random, [signature, '', 'AA'])}`;
  },
  (random, context) => {
    const [, , signature] = partsOf(context);
    const [head, payload] = context.serviceAccountToken.split('.');
    const claims = JSON.parse(Buffer.from(payload ?? '', 'base64url').toString()) as Record<string, unknown>;
    const changed = {
      ...claims,
      sub: choose<unknown>(random, [claims['sub'], 'system:serviceaccount:kube-system:x', 'admin', '', 7]),
      exp: choose<unknown>(random, [claims['exp'], 0, -1, 2 ** 53, Number.MAX_VALUE, 'x', null]),
      aud: choose<unknown>(random, [claims['aud'], [], 'x', [1], null]),
    };
    return `${head}.${encode(mutateJson(random, changed, 2))}.${signature}`;
  },
  (random, { serviceAccountToken }) => {
    const at = random.below(serviceAccountToken.length);
    return `${serviceAccountToken.slice(0, at)}${choose(random, 'AQz0-_.= '.split(''))}${serviceAccountToken.slice(at + 1)}`;
  },
  (random, { serviceAccountToken }) => serviceAccountToken.slice(0, random.below(serviceAccountToken.length)),
  (_, { serviceAccountToken }) => serviceAccountToken.split('.').toReversed().join('.'),
  (_, { serviceAccountToken }) => `${serviceAccountToken}.${serviceAccountToken}`,
  (random) =>
    choose(random, ['.', '..', '...', 'a.b.c', 'e30.e30.', 'e30.e30.AA', '\xff', 'a'.repeat(9_000), '.'.repeat(3_000)]),
  (random) => `${encode('['.repeat(choose(random, [10, 5_000])))}.e30.AA`,
  (_, { token: administrator }) => administrator.slice(0, -1),
  (_, { token: administrator }) => `${administrator}x`,
];

const encode = (text: string): string => Buffer.from(text).toString('base64url');

function partsOf({ serviceAccountToken }: FuzzContext): readonly [Readonly<Record<string, unknown>>, string, string] {
  const [head = '', payload = '', signature = ''] = serviceAccountToken.split('.');
  return [JSON.parse(Buffer.from(head, 'base64url').toString()) as Record<string, unknown>, payload, signature];
}

const blanks = ['', ' ', '  ', '\t', '\x0b', '\xa0', '\x7f', '\x01'];
const users = [
  'bob',
  'system:anonymous',
  'system:serviceaccount:hostile:n1',
  'système',
  '__proto__',
  'x'.repeat(500),
  '',
];
const identityHeaders = [
  ...[
    'impersonate-group',
    'impersonate-uid',
    'impersonate-extra-scopes',
    'impersonate-extra-%zz',
    'impersonate-extra-',
  ],
  ...['x-remote-user', 'x-remote-group', 'x-remote-extra-a', 'impersonate-other'],
];

/** Impersonation headers: a request that names another user must never run as the caller. */
export const identity: Generator = (random, context) => {
  const pad = (text: string): string => `${choose(random, blanks)}${text}${choose(random, blanks)}`;
  const user = pad(choose(random, users));
  const headers: (readonly [string, string])[] = [
    ['authorization', `Bearer ${context.token}`],
    ['impersonate-user', user],
    ...chooseSome(random, identityHeaders, 3).map((name) => [name, pad(choose(random, users))] as const),
  ];
  const named = user.trim() !== '';
  const input = request(random, context, { ...selfReview, headers }, (response) =>
    named && !isLost(user, input.over) && response.status < 300 && usernameOf(response) === 'admin'
      ? 'the request ran as the caller although it names another user'
      : undefined,
  );
  return input;
};

/**
 * Node's HTTP/2 silently drops header values with control characters: a known gap, see
 * docs/decisions/0005-http-listener.md.
 */
const isLost = (value: string, over: RequestInput['over']): boolean =>
  over === 'h2' && /[\x00-\x08\x0a-\x1f\x7f]/.test(value);

function usernameOf(response: Response): string | undefined {
  if (!fieldOf(response, 'content-type')?.startsWith('application/json')) return undefined;
  const { status } = JSON.parse(response.body.toString()) as {
    readonly status?: { readonly userInfo?: { readonly username?: string } };
  };
  return status?.userInfo?.username;
}
