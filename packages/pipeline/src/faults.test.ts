/** @jest-environment ./packages/toolchain/isolated-environment.mjs */
import { sleep, systemClock } from '@cluster-apiserver/base';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createSimpleLimits } from '@cluster-apiserver/gates';
import { encodeProtobuf, type TypeNames } from '@cluster-apiserver/model/codec';
import { defineReview } from '@cluster-apiserver/model/kind';
import { field, int32 } from '@cluster-apiserver/model/schema';
import { type Failure, FaultyModules, failures } from '../test/faulty-modules.ts';
import type { OpenPipeline } from '../test/open-pipeline.ts';
import { recorder } from '../test/recorder.ts';
import { noteKind, robotKind } from '../test/robots.ts';
import type { ClientHttp2Session } from 'node:http2';
import type { Served } from '../test/listener.ts';
import { untilTurned } from '@cluster-apiserver/testkit/until';

/**
 * An error in any stage, handler or encoder affects only its request. Every function of these modules is made to fail
 * while all kinds of requests are sent. A new module needs a row here.
 */
const faulty = new FaultyModules();
for (const folder of ['encoding', 'stages', 'handlers']) await faulty.replace(folder);
const { openPipeline } = await import('../test/open-pipeline.ts');
const { http2Answer, serve } = await import('../test/listener.ts');
const { noListenerMeasures } = await import('../test/no-listener-measures.ts');
const { textResponse } = await import('./responses.ts');

const question = defineReview({
  group: '',
  version: 'v1',
  kind: 'Question',
  plural: 'questions',
  singular: 'question',
  namespaced: false,
  description: 'For these tests.',
  fields: { arms: field(2, int32, '') },
  requiredFields: [],
  answer: (asked) => asked,
});

let pipeline: OpenPipeline;
let served: Served;
let session: ClientHttp2Session;
let callbacksFailed: number;
let waiting: (() => void)[];

beforeAll(async () => {
  waiting = [];
  const chain = {
    limits: { control: createSimpleLimits(systemClock, { readOnly: 400, mutating: 200 }), seatsOf: () => 1 },
    auditor: {
      begin: () => recorder(() => {}, true),
    },
    allowedOrigin: () => true,
  };
  pipeline = await openPipeline({
    kinds: [robotKind, noteKind],
    chain,
    routes: {
      reviews: [question],
      nonResourceRouter: ({ auditId, info }) =>
        info.path === '/slow'
          ? new Promise((resolve) => waiting.push(() => resolve(textResponse(auditId, 200, 'slow'))))
          : textResponse(auditId, 200, 'well'),
    },
  });
  served = await serve(pipeline.handle, undefined, {
    measures: { ...noListenerMeasures, countFailedCallback: () => (callbacksFailed += 1) },
    report: (_, error) => void pipeline.reportedErrors.push(error),
  });
  session = served.http2();
  for (let i = 0; i < 80; i++) await make(`r${i}`, { words: { large: 'x'.repeat(2_000) } });
  await make('large', { words: { large: 'x'.repeat(40_000) } });
  await findReaching();
});
afterAll(async () => {
  await served.close();
  await pipeline.close();
});

const robots = '/api/v1/namespaces/n/robots';
const make = (name: string, fields: object = {}) =>
  pipeline.ask('POST', robots, { body: Buffer.from(JSON.stringify({ metadata: { name }, ...fields })) });

interface Attack {
  readonly method?: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

let made = 0;
const json = { 'content-type': 'application/json' };
const accept = (type: string) => ({ accept: type });
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const protobuf = 'application/vnd.kubernetes.protobuf';
const patch = (type: string, body: unknown, query = ''): Attack => ({
  method: 'PATCH',
  target: `${robots}/r1${query}`,
  headers: { 'content-type': `application/${type}` },
  body: JSON.stringify(body),
});

/** Every kind of request: together they run every function of the folders. */
const attacks: readonly (() => Attack)[] = [
  () => ({ target: `${robots}/r1` }),
  ...[table, protobuf, 'application/yaml', 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io'].map(
    (type) => () => ({ target: `${robots}/r1`, headers: accept(type) }),
  ),
  ...[table, protobuf, 'application/yaml'].map((type) => () => ({ target: `${robots}/large`, headers: accept(type) })),
  () => ({ target: `${robots}/none` }),
  ...['', `${table},`, protobuf, 'application/yaml'].map((type) => () => ({
    target: robots,
    headers: { ...(type && accept(type)), 'accept-encoding': 'gzip' },
  })),
  ...[table, protobuf, 'application/yaml'].map((type) => () => ({ target: robots, headers: accept(type) })),
  () => ({ target: `${robots}?limit=2&pretty=1`, headers: { 'user-agent': 'curl/8' } }),
  () => ({ target: '/apis/machines.example/v2/namespaces/n/machines' }),
  () => ({ method: 'POST', target: robots, headers: json, body: `{"metadata":{"name":"a${made++}"}}` }),
  () => ({
    method: 'POST',
    target: robots,
    headers: { 'content-type': 'application/yaml' },
    body: `metadata: {name: a${made++}}`,
  }),
  () => ({
    method: 'POST',
    target: robots,
    headers: { 'content-type': protobuf, accept: protobuf },
    body: Buffer.from(
      encodeProtobuf(robotKind.schema, {
        kind: 'Robot',
        apiVersion: 'v1',
        metadata: { name: `a${made++}` },
      } as TypeNames),
    ),
  }),
  () => ({ method: 'PUT', target: `${robots}/r1`, headers: json, body: '{"metadata":{"name":"r1"},"arms":2}' }),
  () => patch('merge-patch+json', { arms: 3 }),
  () => patch('strategic-merge-patch+json', { arms: 4 }),
  () => patch('json-patch+json', [{ op: 'add', path: '/arms', value: 5 }]),
  () => patch('apply-patch+yaml', { apiVersion: 'v1', kind: 'Robot', metadata: { name: 'r1' } }, '?fieldManager=m'),
  () => ({ method: 'POST', target: `${robots}/r1/token`, headers: json, body: '{"spec":{}}' }),
  () => ({ target: `${robots}/r1/scale` }),
  () => ({
    method: 'PUT',
    target: `${robots}/r1/scale`,
    headers: json,
    body: JSON.stringify({ apiVersion: 'tokens.example/v3', kind: 'Token', metadata: { name: 'r1' } }),
  }),
  () => ({
    method: 'PATCH',
    target: `${robots}/r1/scale`,
    headers: { 'content-type': 'application/merge-patch+json' },
    body: '{"spec":{"words":{"arms":"9"}}}',
  }),
  () => ({
    method: 'PATCH',
    target: `${robots}/r1/scale?fieldManager=m&force=1`,
    headers: { 'content-type': 'application/apply-patch+yaml' },
    body: JSON.stringify({ apiVersion: 'tokens.example/v3', kind: 'Token', metadata: { name: 'r1' } }),
  }),
  () => ({ method: 'POST', target: '/api/v1/questions', headers: json, body: '{"arms":1}' }),
  () => ({ method: 'DELETE', target: `${robots}/r2?dryRun=All` }),
  () => ({ method: 'DELETE', target: `${robots}?dryRun=All`, headers: json, body: '{}' }),
  ...['', table, protobuf].map((type) => () => ({
    target: `${robots}?watch=1&timeoutSeconds=-1&fieldSelector=metadata.name%3Dr1`,
    headers: type ? accept(type) : {},
  })),
  () => ({ target: `${robots}/r1`, headers: { 'impersonate-user': 'bob' } }),
  () => ({ target: `${robots}/r1`, headers: { origin: 'https://page.example' } }),
];

const marked = (target: string): string => `${target}${target.includes('?') ? '&' : '?'}fault=here`;

/** The outcome. `cutOff` is a response that the client does not take for a complete one. */
interface Outcome {
  readonly status: number;
  readonly body: string;
  readonly cutOff: boolean;
}

const overHttp1 = async ({ method = 'GET', target, headers = {}, body = '' }: Attack): Promise<Outcome> => {
  const client = await served.raw();
  const lines = Object.entries({ ...headers, host: 'a', connection: 'close', 'content-length': body.length });
  client.send(
    `${method} ${marked(target)} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  );
  client.send(body);
  const received = await client.ended();
  const at = received.indexOf('\r\n\r\n');
  const [head, rest] = [received.slice(0, at), received.slice(at + 4)];
  const length = /^content-length: (\d+)/im.exec(head)?.[1];
  const isWhole = length === undefined ? /(?:^|\r\n)0\r\n\r\n$/.test(rest) : rest.length === Number(length);
  return { status: Number(head.slice(9, 12)), body: rest, cutOff: at < 0 || !isWhole };
};

const overHttp2 = async ({ method = 'GET', target, headers = {}, body = '' }: Attack): Promise<Outcome> => {
  const options = { endStream: body.length === 0 };
  const stream = session.request({ ...headers, ':method': method, ':path': marked(target) }, options);
  if (body.length > 0) stream.end(body);
  const answer = await http2Answer(stream).catch(() => undefined);
  return answer
    ? { status: answer.status, body: answer.bytes.toString('latin1'), cutOff: false }
    : { status: 0, body: '', cutOff: true };
};

/** Limit for one request, shorter than that of a test. */
const hungMs = 5_000;
const hung: Outcome = { status: 0, body: 'no response', cutOff: false };

const failed = ({ status, body, cutOff }: Outcome): boolean =>
  cutOff || ((status === 500 || body.includes('ERROR')) && body.includes('InternalError'));

const isCausedBy = (error: unknown, cause: unknown): boolean =>
  error === cause || (error instanceof Error && error.cause !== undefined && isCausedBy(error.cause, cause));

test('every module with functions is tested', () => {
  expect(faulty.modules).toEqual(
    expect.arrayContaining(['stages/authorize.ts', 'handlers/watch.ts', 'encoding/list-body.ts']),
  );
  expect(faulty.modules.length).toBeGreaterThan(30);
});

/** Calls that carry no request are counted: the first one fails, or a later one. */
const nthCalls = (module: string): readonly number[] => (module.startsWith('stages/') ? [1] : [1, 3]);

/** Kinds of request per module, spread over all that reach it. Each opens a connection, which is slow. */
const attacksMax: Readonly<Record<string, number>> = { 'HTTP/1.1': 3, 'HTTP/2': 10 };

/** The kinds of request that reach each module. */
const reaching = new Map<string, (() => Attack)[]>();

async function findReaching(): Promise<void> {
  for (const attack of attacks) {
    faulty.called.clear();
    const { cutOff } = await overHttp2(attack());
    expect(cutOff).toBe(false);
    for (const module of faulty.called) reaching.set(module, [...(reaching.get(module) ?? []), attack]);
  }
}

function someReaching(module: string, protocol: string): (() => Attack)[] {
  const all = reaching.get(module) ?? [];
  const step = Math.ceil(all.length / (attacksMax[protocol] as number));
  return all.filter((_, index) => index % step === 0);
}

describe.each(faulty.modules)('%s', (module) => {
  describe.each(['HTTP/1.1', 'HTTP/2'])('over %s', (protocol) => {
    test.each(failures)('affects only its request when it %s', async (failure: Failure) => {
      waiting.splice(0).forEach((answer) => answer());
      const slow = http2Answer(session.request({ ':path': '/slow' }));
      await untilTurned(() => waiting.length === 1);
      let hits = 0;
      for (const nth of nthCalls(module))
        for (const attack of someReaching(module, protocol)) {
          const error = new Error('injected');
          pipeline.reportedErrors.length = 0;
          pipeline.codes.length = 0;
          callbacksFailed = 0;
          const sent = attack();
          faulty.arm({ module, failure, error, nth, target: 'fault=here' });
          const outcome = await Promise.race([
            (protocol === 'HTTP/2' ? overHttp2 : overHttp1)(sent),
            sleep(systemClock, hungMs).then(() => hung),
          ]);
          const hit = faulty.hits > 0;
          faulty.arm(undefined);
          if (!hit) {
            if (outcome.cutOff) expect({ sent, outcome }).toBe('an answer');
            continue;
          }
          hits++;
          if (!failed(outcome)) expect({ sent, outcome }).toBe('a failure');
          await untilTurned(() => pipeline.reportedErrors.some((one) => isCausedBy(one, error)));
          const isWatch = sent.target.includes('watch=1');
          expect({
            sent,
            counted: isWatch || callbacksFailed > 0 || pipeline.codes.includes(500),
          }).toMatchObject({
            counted: true,
          });
          expect((await http2Answer(session.request({ ':path': '/next' }))).status).toBe(200);
        }
      expect(hits).toBeGreaterThan(0);
      waiting.splice(0).forEach((answer) => answer());
      expect((await slow).text).toBe('slow');
    });
  });
});
