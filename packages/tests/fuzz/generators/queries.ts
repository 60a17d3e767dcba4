import type { Random } from '@cluster-apiserver/base';
import { choose, chooseSome } from '../../test/hostile/choose.ts';
import { hostilePath, hostileQuery, hostileRequest } from '../../test/hostile/requests.ts';
import { mutateJson } from '../mutate-json.ts';
import { request, type Generator } from './generator.ts';
import { collectionPath, objectPath } from './targets.ts';

const words = [
  'a',
  'app',
  'a.b/c',
  'tier',
  'x'.repeat(63),
  'x'.repeat(64),
  'x'.repeat(254),
  'é',
  '__proto__',
  '-a',
  '',
];
const word = (random: Random): string => choose(random, words);

const labelTerms: readonly ((random: Random) => string)[] = [
  word,
  (random) => `!${word(random)}`,
  (random) => `${word(random)}${choose(random, ['=', '==', '!=', '=>', '<', '>', '==='])}${word(random)}`,
  (random) =>
    `${word(random)} ${choose(random, ['in', 'notin', 'IN', 'not in'])} (${chooseSome(random, words, 5).join(',')})`,
  (random) =>
    `${word(random)}${choose(random, ['>', '<'])}${choose(random, ['1', '-1', '1e3', '99999999999999999999', 'x'])}`,
  (random) => `${word(random)} in ${'('.repeat(random.below(200))}`,
];

const fieldNames = [
  ...['metadata.name', 'metadata.namespace', 'involvedObject.name', 'involvedObject.uid', 'type', 'reason', 'source'],
  ...['spec.x', 'metadata.__proto__', '', 'metadata.name.x', 'status.phase'],
];
const fieldTerms: readonly ((random: Random) => string)[] = [
  (random) => `${choose(random, fieldNames)}${choose(random, ['=', '==', '!=', '', '>'])}${word(random)}`,
  (random) => `${choose(random, fieldNames)}=${choose(random, ['\\', '\\,', '\\=', '\\\\', '\\x', 'a\\'])}`,
];

const bounds = [
  '0x0',
  '0x8000000000000000',
  '0x10000000000000000',
  '0x10000000000000001',
  '0xFFFFFFFFFFFFFFFF',
  '0x',
  '0',
  '-0x1',
  '0xg',
];
const shardTerms: readonly ((random: Random) => string)[] = [
  (random) =>
    `shardRange(${choose(random, ['object.metadata.uid', 'object.metadata.namespace', 'object.x', ''])}, '${choose(random, bounds)}', '${choose(random, bounds)}')`,
  () => 'shardRange(',
  (random) => `shardRange${' '.repeat(random.below(2_000))}(object.metadata.uid,'0x0','0x1')`,
];

const selectorForms = [
  { parameter: 'labelSelector', terms: labelTerms, separators: [',', ',', ', ', ',,', '||', ' '] },
  { parameter: 'fieldSelector', terms: fieldTerms, separators: [',', ',', ',,', '&&'] },
  { parameter: 'shardSelector', terms: shardTerms, separators: [' || ', '||', ',', '|', ' or '] },
] as const;

/** Numbers of terms: some requests come close to the limit of a request line. */
const termCounts = [1, 1, 2, 3, 5, 20, 300];

export const selector: Generator = (random, context) => {
  const { parameter, terms, separators } = choose(random, selectorForms);
  const count = choose(random, termCounts);
  const text = Array.from({ length: count }, () => choose(random, terms)(random)).join(choose(random, separators));
  const encode = choose(random, [encodeURIComponent, encodeURIComponent, encodeURI]);
  const rest = choose(random, ['', '&limit=2', '&resourceVersion=0', '&watch=1&timeoutSeconds=1']);
  const method = choose(random, ['GET', 'GET', 'GET', 'DELETE']);
  // The length check keeps the longest selectors below the server's limit for a request line.
  const target = `${collectionPath(random)}?${parameter}=${encode(text).slice(0, targetBytesMax)}${rest}`;
  return request(random, context, { method, target: target.replaceAll(' ', '%20').replaceAll(/[^\x21-\x7e]/g, '%ff') });
};

const targetBytesMax = 60_000;

/** The fields of a real continue token with wrong types, bounds and positions. */
export const continueToken: Generator = (random, context) => {
  const value = {
    v: choose<unknown>(random, ['meta.k8s.io/v1', 'meta.k8s.io/v2', 1, null]),
    rv: choose<unknown>(random, [-1, 1, 0, 7, 2 ** 53, 2 ** 63, -2, 1.5, '1', null]),
    start: choose<unknown>(random, [
      ...['n1\0', 'hostile/n1\0', '../x', 'hostile/../../x\0', '/', '', '\0', '\uffff', 'x'.repeat(5_000), '..', './a'],
      ...[null, 1, ['n1'], {}],
    ]),
  };
  const made = Buffer.from(mutateJson(random, value, 2));
  const token = choose<(bytes: Buffer) => string>(random, [
    (bytes) => bytes.toString('base64url'),
    (bytes) => bytes.toString('base64url'),
    (bytes) => bytes.toString('base64'),
    (bytes) => `${bytes.toString('base64url')}==`,
    (bytes) => bytes.toString('base64url').slice(1),
    (bytes) => bytes.toString('hex'),
    () => flipOne(random, context.continueToken),
    () => context.continueToken,
  ])(made);
  const query = [
    `continue=${encodeURIComponent(token)}`,
    `limit=${choose(random, ['1', '2', '0', '-1', '99999999999'])}`,
  ];
  if (random.below(4) === 0)
    query.push(choose(random, ['resourceVersion=1', 'labelSelector=a', 'watch=1&timeoutSeconds=1']));
  return request(random, context, { target: `${collectionPath(random)}?${query.join('&')}` });
};

function flipOne(random: Random, text: string): string {
  const at = random.below(text.length);
  return `${text.slice(0, at)}${choose(random, 'AZaz09-_.~'.split(''))}${text.slice(at + 1)}`;
}

export const anyRequest: Generator = (random, { token }) => ({
  form: 'request',
  over: random.below(3) === 0 ? 'http/1.1' : 'h2',
  request: hostileRequest(random, token),
});

export const pathAndParameters: Generator = (random, context) => {
  const path = choose<(random: Random) => string>(random, [hostilePath, collectionPath, objectPath])(random);
  const twice = random.below(4) === 0;
  const query = hostileQuery(random);
  return request(random, context, {
    method: choose(random, ['GET', 'GET', 'GET', 'DELETE', 'HEAD', 'OPTIONS']),
    target: `${path}${query}${twice ? `&${query.slice(1)}` : ''}`,
  });
};

const mediaTypes = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'text/html',
  '*/*',
  'application/*',
];
const mediaParameters = [
  ...[
    ';as=Table;g=meta.k8s.io;v=v1',
    ';as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
    ';as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  ],
  ...[
    ';as=Table',
    ';as=__proto__;g=meta.k8s.io;v=v1',
    ';g=meta.k8s.io;v=v1beta1;as=Table',
    ';as=APIGroupDiscoveryList;g=apidiscovery.k8s.io;v=v2',
  ],
  ...[';q=0', ';q=1.0001', ';q=', ';charset=utf-16', ';pretty=1', ';stream=watch', ';="', '; ;', ';q=0.5;as=Table', ''],
];

export const mediaType: Generator = (random, context) => {
  const accept = Array.from(
    { length: choose(random, [1, 1, 2, 5, 200]) },
    () => `${choose(random, mediaTypes)}${choose(random, mediaParameters)}`,
  ).join(choose(random, [',', ', ', ',,', ';']));
  const documents = [
    '/api',
    '/apis',
    '/api/v1',
    '/openapi/v2',
    '/openapi/v3',
    '/version',
    '/metrics',
    '/apis/events.k8s.io/v1',
  ];
  const target = choose<(random: Random) => string>(random, [
    collectionPath,
    collectionPath,
    objectPath,
    (random) => `${collectionPath(random)}?watch=1&timeoutSeconds=1`,
    (random) => choose(random, documents),
  ])(random);
  const headers: (readonly [string, string])[] = [['accept', accept]];
  if (random.below(3) === 0)
    headers.push(['accept-encoding', choose(random, ['gzip', 'gzip;q=0', 'br, gzip', '*', 'identity;q=0'])]);
  if (random.below(6) === 0)
    return request(random, context, {
      method: 'POST',
      target: '/api/v1/namespaces/hostile/serviceaccounts',
      headers,
      body: { contentType: accept.slice(0, 500), bytes: Buffer.from('{"metadata":{"name":"n1"}}') },
    });
  return request(random, context, { target, headers });
};
