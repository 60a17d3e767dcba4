import type { Random } from '@cluster-apiserver/base';
import { type Body, hostileBody } from './bodies.ts';
import { choose, chooseSome } from './choose.ts';

/** A complete, well-framed request with hostile content in each of its parts. */
export interface Request {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Body | undefined;
}

export function hostileRequest(random: Random, token: string): Request {
  const method = choose(random, methods);
  const sendsBody = method !== 'GET' && method !== 'HEAD' && random.below(6) !== 0;
  // Few names, so that requests meet objects of earlier ones.
  const name = `n${random.below(6)}`;
  const target = `${random.below(3) === 0 ? hostilePath(random) : plainPath(random, method, name)}${random.below(2) === 0 ? hostileQuery(random) : ''}`;
  const headers = random.below(2) === 0 ? chooseSome(random, hostileHeaders, 3).map((header) => header()) : [];
  const knownPaths = random.below(20) !== 0;
  return {
    method,
    target,
    headers: [...(knownPaths ? [['authorization', `Bearer ${token}`] as const] : []), ...headers],
    body: sendsBody ? hostileBody(random, name) : undefined,
  };
}

const methods = [
  ...['GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'PUT', 'PUT', 'PATCH', 'PATCH', 'PATCH', 'DELETE', 'DELETE'],
  ...['HEAD', 'OPTIONS', 'TRACE', 'PROPFIND', 'LINK', 'PURGE', 'QUERY', 'M-SEARCH', 'COPY'],
];

const collections = [
  'serviceaccounts',
  'serviceaccounts',
  'events',
  'events',
  'pods',
  'serviceaccount',
  '__proto__',
  'constructor',
  'toString',
];

function plainPath(random: Random, method: string, name: string): string {
  const collection = `/api/v1/namespaces/hostile/${choose(random, collections)}`;
  return method === 'POST' || random.below(6) === 0 ? collection : `${collection}/${name}`;
}

const segments = [
  ...[
    '',
    '.',
    '..',
    '%2e%2e',
    '%2f',
    '%2F..%2f',
    '%00',
    '%',
    '%zz',
    '%c0%ae',
    '%ff%fe',
    '%ed%a0%80',
    '%u0041',
    '+',
    '*',
    ';a=b',
    '\\..\\',
    '%5c',
    '~',
    '%0d%0aX:y',
    '%20',
    '%7f',
  ],
  ...[
    '__proto__',
    'constructor',
    'hasOwnProperty',
    'api',
    'apis',
    'v1',
    'v2',
    'watch',
    'proxy',
    'namespaces',
    'hostile',
    'serviceaccounts',
    'events',
    'n1',
    'status',
    'token',
    'scale',
  ],
  ...[
    'readyz',
    'livez',
    'healthz',
    'metrics',
    'version',
    'openapi',
    'etcd',
    'shutdown',
    'events.k8s.io',
    'a'.repeat(254),
    'a'.repeat(9_000),
    '${7*7}',
    '{{x}}',
    '<script>',
    "'",
    '"',
    '|',
    '^',
    '`',
    '\xe9',
    '\xff',
  ],
];

export const hostilePath = (random: Random): string => `/${chooseSome(random, segments, 9).join('/')}`;

const parameters = [
  ...[
    'dryRun',
    'fieldManager',
    'fieldValidation',
    'pretty',
    'limit',
    'continue',
    'resourceVersion',
    'resourceVersionMatch',
    'labelSelector',
    'fieldSelector',
    'timeoutSeconds',
    'timeout',
  ],
  ...[
    'watch',
    'allowWatchBookmarks',
    'sendInitialEvents',
    'gracePeriodSeconds',
    'propagationPolicy',
    'orphanDependents',
    'force',
    'ignoreStoreReadErrorWithClusterBreakingPotential',
  ],
  ...['verbose', 'exclude', '__proto__', 'constructor', '', '%', '%00', 'a'.repeat(2_000)],
];
const values = [
  ...[
    '',
    '0',
    '1',
    '-1',
    'true',
    'false',
    'All',
    'None',
    'Strict',
    'Warn',
    'NotOlderThan',
    'Exact',
    '99999999999999999999',
    '9223372036854775807',
    '1e9',
    '0x1',
    'NaN',
    '1ns',
    '0.0001s',
    '-5s',
    '9999h',
    '1h1',
  ],
  ...[
    '%',
    '%zz',
    '%00',
    '%ff',
    '%ed%a0%80',
    '+',
    'a b',
    'a=b',
    'a!=b',
    'a in (b,c)',
    'a notin ()',
    '!a',
    '(((',
    'a in',
    'metadata.name=n1',
    'metadata.name!=n1,spec.x=y',
    'a==b,,',
    '\\',
    '=',
    '==',
    ',',
    'a'.repeat(3_000),
  ],
  ...[
    'eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiIuLi8ifQ',
    '{}',
    '[]',
    'null',
    '__proto__',
    'Foreground',
    'Background',
    'Orphan',
    'kube%0actl',
    '\xe9',
    '%F0%9F%98%80',
  ],
];

export const hostileQuery = (random: Random): string =>
  `?${chooseSome(random, parameters, 5)
    .map((name) => (random.below(8) === 0 ? name : `${name}=${choose(random, values)}`))
    .join(choose(random, ['&', '&', '&', ';', '&&', '?']))}`;

const hostileHeaders: readonly (() => readonly [string, string])[] = [
  ...(
    [
      ...[
        ['accept', 'text/html'],
        ['accept', ''],
        ['accept', '*/*;q=9'],
        ['accept', 'application/json;as=Table;v=v1;g=meta.k8s.io'],
        ['accept', 'application/yaml'],
        ['accept', ',;,;q='],
      ],
      ...[
        ['accept', 'application/vnd.kubernetes.protobuf'],
        ['accept-encoding', 'gzip;q=0, *;q=NaN'],
        ['accept-encoding', 'br, deflate, zstd, x'],
        ['content-encoding', 'gzip'],
      ],
      ...[
        ['authorization', 'Bearer'],
        ['authorization', 'Bearer  '],
        ['authorization', 'Basic Og=='],
        ['authorization', 'Bearer \xe9'],
        ['authorization', 'Negotiate YII='],
      ],
      ...[
        ['audit-id', '../../x'],
        ['audit-id', 'x'.repeat(5_000)],
        ['audit-id', 'id-1'],
        ['user-agent', ''],
        ['user-agent', '/'],
        ['user-agent', '\xff'.repeat(300)],
        ['user-agent', 'a'.repeat(10_000)],
      ],
      ...[
        ['impersonate-user', 'admin'],
        ['impersonate-group', 'system:masters'],
        ['impersonate-extra-__proto__', 'x'],
        ['x-remote-user', 'admin'],
        ['x-forwarded-for', '127.0.0.1, ::1, x'],
      ],
      ...[
        ['range', 'bytes=0-'],
        ['if-match', '*'],
        ['if-none-match', '"x"'],
        ['if-modified-since', 'never'],
        ['cookie', 'a=b; __proto__=c'],
        ['__proto__', 'x'],
        ['constructor', 'x'],
        ['traceparent', '00-zz-zz-01'],
      ],
      ...[
        ['traceparent', `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`],
        ['origin', 'null'],
        ['origin', 'https://x'],
        ['access-control-request-method', 'PUT'],
        ['priority', 'u=9'],
        ['x-http-method-override', 'DELETE'],
      ],
      ...[
        ['content-language', '%00'],
        ['early-data', '1'],
        ['via', '1.1 x'],
        ['max-forwards', '-1'],
        ['warning', '299 - "x"'],
        ['date', 'x'],
        ['from', '\t'],
      ],
    ] as [string, string][]
  ).map((header) => () => header),
  () => ['x-long', 'v'.repeat(30_000)],
  () => [`x-${'n'.repeat(8_000)}`, 'v'],
];
