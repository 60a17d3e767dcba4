import { gunzipSync } from 'node:zlib';
import { createAdmission, type Authorizer } from '@cluster-apiserver/gates';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Call, LatencyTracker, seededRandom, sleep, systemClock, withinCall } from '@cluster-apiserver/base';
import {
  type AccessQuestion,
  deleteOptions,
  encodeProtobuf,
  parseProtobuf,
  partialMetadataListSchema,
  partialMetadataSchema,
  StatusError,
  statusSchema,
} from '@cluster-apiserver/model';
import { openRegistry, type Registry } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/storage';
import { recorder } from '../test/recorder.ts';
import { machineKind, noteKind, robotKind, token } from '../test/robots.ts';
import { chain } from './chain.ts';
import { documentRoutes } from './documents.ts';
import {
  type ApiRequest,
  type ApiResponse,
  BodyTooLargeError,
  ClientGoneError,
  type Handler,
  type Streaming,
} from './exchange.ts';
import { OpenWatches } from './handlers/open-watches.ts';
import { textResponse } from './respond.ts';
import { routes } from './routes.ts';
import { boundTime } from './stages/deadline.ts';

/** The whole pipeline without a socket, over a store in memory. */

let registry: Registry;
let handle: Handler<ApiRequest>;
let faults: unknown[];
let counted: { verb: string; code: number }[];
let bodiesRead: number;
let asked: { readonly question: AccessQuestion; readonly call: Call }[];
let recorded: string[];
let gone: AbortController;
/** The storage does not tell how far it is. */
let unanswered: boolean;

beforeEach(() => {
  faults = [];
  counted = [];
  bodiesRead = 0;
  asked = [];
  recorded = [];
  gone = new AbortController();
  unanswered = false;
  const clock = systemClock;
  const random = seededRandom(7);
  const store = memoryStore(clock);
  registry = openRegistry({
    kinds: [machineKind, robotKind, noteKind],
    store: { ...store, head: (call) => (unanswered ? new Promise(() => {}) : store.head(call)) },
    keyPrefix: '/registry',
    clock,
    random,
    report: () => {},
  });
  const { resources, views } = registry;
  const authorizer: Authorizer = {
    authorize: (question, call) => {
      asked.push({ question, call });
      const { user, verb } = question;
      if (user.groups.includes('masters')) return { verdict: 'allow', annotations: { rule: 'masters' } };
      if (user.groups.includes('early')) return { verdict: 'notReady' };
      if (user.groups.includes('managers') && verb === 'impersonate') return { verdict: 'allow' };
      if (user.groups.includes('failing')) return { verdict: 'noOpinion', error: new Error('the webhook is away') };
      if (user.groups.includes('editors') && ['update', 'patch'].includes(verb)) return { verdict: 'allow' };
      return { verdict: 'noOpinion', reason: 'no rule' };
    },
  };
  handle = chain(
    {
      clock,
      random,
      requestTimeoutMs: 1000,
      allowedOrigin: () => false,
      authenticator: {
        authenticate: (credentials, call) =>
          credentials.header('authorization') === 'slow'
            ? withinCall(clock, call, new Promise<never>(() => {}))
            : users[credentials.header('authorization') ?? ''],
      },
      authorizer,
      auditor: {
        begin: ({ info: { query } }) =>
          recorder((line) => query.has('audited') && recorded.push(line), query.get('audited') === 'RequestResponse'),
      },
      inFlightLimits: { readOnly: 400, mutating: 200 },
      inFlightMeasures: { used: () => {}, rejected: () => {} },
      requestLog: { logsAll: false, ended: () => {} },
      measures: {
        ended: ({ request, info, code }) => void counted.push({ verb: info?.verb || request.method, code }),
      },
      report: (error) => void faults.push(error),
      reportRejection: () => {},
    },
    routes({
      resources: [...resources, ...views],
      reviews: [],
      clock,
      checks: { admission: createAdmission([]), authorizer },
      deleteCollectionWorkers: 2,
      watchLimits: {
        clock,
        random,
        minRequestTimeoutMs: 1000,
        report: (error) => void faults.push(error),
        openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
        measures: { began: () => ({ sent: () => {}, stalled: () => {}, ended: () => {} }) },
      },
      documents: documentRoutes({
        '/hello': ({ auditId }) => textResponse(auditId, 200, 'hello'),
        '/broken/:part': () => {
          throw new TypeError('a fault of ours');
        },
      }),
    }),
  );
});

afterEach(() => registry.cache.close());

const users: Record<string, { name: string; groups: string[] }> = {
  master: { name: 'm', groups: ['masters'] },
  visitor: { name: 'v', groups: [] },
  editor: { name: 'e', groups: ['editors'] },
  early: { name: 'y', groups: ['early'] },
  manager: { name: 'manager', groups: ['managers'] },
  failing: { name: 'failing', groups: ['failing'] },
};

/** A selector as authorizers are told it. */
const requiring = (key: string, value: string): object => ({
  requirements: [{ key, operator: 'In', values: [value] }],
});

/** What authorization writes into the record of a request. */
const noted = (decision: string, reason: string): string[] => [
  `authorization.k8s.io/decision=${decision}`,
  `authorization.k8s.io/reason=${reason}`,
];

interface Said {
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string | undefined>;
}

async function bytesIn(body: ApiResponse['body']): Promise<Buffer | undefined> {
  if (typeof body === 'string') return Buffer.from(body, 'latin1');
  if (body === undefined || 'stream' in body) return undefined;
  if ('flow' in body) {
    const pieces: Buffer[] = [];
    for await (const piece of body.flow()) pieces.push(piece);
    return Buffer.concat(pieces);
  }
  return Buffer.isBuffer(body) ? body : Buffer.concat([...body.pieces(64, Buffer.allocUnsafe)]);
}

async function ask(method: string, target: string, { body, headers = {} }: Said = {}) {
  const all: Record<string, string | undefined> = { authorization: 'master', ...headers };
  const request: ApiRequest = {
    method,
    target,
    header: (name) => all[name],
    headerLines: (name) => (all[name] === undefined ? [] : [all[name]]),
    clientCertificates: [],
    headersFrom: (prefix) =>
      Object.entries(all).flatMap(([name, value]) =>
        value !== undefined && name.startsWith(prefix) ? [[name, value]] : [],
      ),
    body: async (limit) => {
      bodiesRead++;
      const bytes = Buffer.from((body ?? '') as string);
      if (bytes.length > limit) throw new BodyTooLargeError(limit);
      return bytes;
    },
    webSocket: false,
    remoteAddress: '127.0.0.1',
    protocol: 'HTTP/1.1',
    signal: gone.signal,
    isAborted: gone.signal.aborted,
    onEnd: () => {},
  };
  const response: ApiResponse = await handle(request);
  const bytes = await bytesIn(response.body);
  return {
    ...response,
    bytes,
    text: bytes?.toString() ?? '',
    json: () =>
      JSON.parse(bytes?.toString() ?? '') as {
        message: string;
        reason: string;
        metadata: Record<string, unknown>;
        items: { metadata: { name: string } }[];
      },
  };
}

const robots = '/api/v1/namespaces/n/robots';
const make = (name: string, fields = {}) =>
  ask('POST', robots, { body: JSON.stringify({ metadata: { name }, ...fields }) });

describe('who may not', () => {
  const everyRoute = [
    ['GET', robots],
    ['POST', robots],
    ['DELETE', robots],
    ['GET', `${robots}/a`],
    ['PUT', `${robots}/a`],
    ['PATCH', `${robots}/a`],
    ['POST', `${robots}/a/token`],
    ['DELETE', `${robots}/a`],
    ['GET', '/api/v1/robots'],
    ['GET', '/api/v1/watch/robots'],
    ['GET', '/hello'],
    ['GET', '/nowhere'],
    ['POST', '/apis/x/v1/y'],
  ] as const;
  test.each(everyRoute)(
    '%s %s is refused to a caller without a name and to one without a right, who learn nothing of what is there',
    async (method, target) => {
      await make('a');
      bodiesRead = 0;
      for (const [caller, code] of [
        [undefined, 401],
        ['nobody', 401],
        ['visitor', 403],
      ] as const) {
        const here = await ask(method, target, { headers: { authorization: caller }, body: '{}' });
        const elsewhere = await ask(method, target.replace(/\/a(?=$|\/token)/, '/b'), {
          headers: { authorization: caller },
          body: '{}',
        });
        expect(here.status).toBe(code);
        expect(elsewhere.text.replaceAll('b', 'a')).toBe(here.text.replaceAll('b', 'a'));
      }
      expect(bodiesRead).toBe(0);
    },
  );

  test.each([
    ['PUT', '/apis/notes.example/v1/namespaces/n/notes/n1', { metadata: { name: 'n1' } }, 'notes.notes.example "n1"'],
    [
      'PATCH',
      `${robots}/r1?fieldManager=m`,
      { apiVersion: 'v1', kind: 'Robot', metadata: { name: 'r1' } },
      'robots "r1"',
    ],
  ])('%s of what is not there needs the right to create', async (method, target, fields, name) => {
    const content = method === 'PUT' ? 'application/json' : 'application/apply-patch+yaml';
    const said = { body: JSON.stringify(fields), headers: { 'content-type': content } };
    const byEditor = { ...said, headers: { ...said.headers, authorization: 'editor' } };
    const refused = await ask(method, target, byEditor);
    expect([refused.status, refused.json().reason]).toEqual([403, 'Forbidden']);
    expect(refused.json().message).toContain(`${name} is forbidden: User "e" cannot create resource`);
    expect((await ask(method, target, said)).status).toBe(201);
    expect((await ask(method, target, byEditor)).status).toBe(200);
  });

  test('a question that nobody can decide yet is answered with a time to come again', async () => {
    for (const headers of [{ authorization: 'early' }, { authorization: 'early', 'impersonate-user': 'bob' }]) {
      const response = await ask('GET', robots, { headers });
      expect([response.status, response.json().reason]).toEqual([503, 'ServiceUnavailable']);
      expect(response.headers['retry-after']).toBe('1');
    }
  });

  test.each([
    ['GET', `${robots}?fieldSelector=metadata.name%3Da`, { name: 'a', fieldSelector: requiring('metadata.name', 'a') }],
    ['GET', `${robots}?watch=1&fieldSelector=arms%3D1,metadata.name%3D%3Da`, { name: 'a' }],
    ['GET', `${robots}?fieldSelector=metadata.name!%3Da`, { name: undefined }],
    ['GET', `${robots}?fieldSelector=arms%3D%5C,metadata.name%3Da`, { name: undefined }],
    ['GET', `${robots}?fieldSelector=metadata.name%3D..`, { name: undefined }],
    ['GET', `${robots}?labelSelector=a%3Db`, { name: undefined, labelSelector: requiring('a', 'b') }],
    [
      'DELETE',
      `${robots}?fieldSelector=metadata.name%3Da`,
      { name: undefined, fieldSelector: requiring('metadata.name', 'a') },
    ],
    ['GET', `${robots}/b?fieldSelector=metadata.name%3Da`, { name: 'b' }],
  ])('%s %s is a question about what it selects', async (method, target, resource) => {
    await ask(method, target, { headers: { authorization: 'visitor' } });
    expect(asked[0]?.question.resource).toMatchObject(resource);
  });

  test('a refusal says who cannot do what', async () => {
    const refused = await ask('GET', `${robots}/a`, { headers: { authorization: 'visitor' } });
    expect(refused.json()).toMatchObject({
      reason: 'Forbidden',
      message:
        'robots "a" is forbidden: User "v" cannot get resource "robots" in API group "" in the namespace "n": no rule',
    });
  });
});

describe('an exchange', () => {
  test('has a name, the caller’s if it is a sensible one', async () => {
    expect((await ask('GET', robots, { headers: { 'audit-id': 'mine-1' } })).headers['audit-id']).toBe('mine-1');
    for (const wild of ['a b', 'x'.repeat(65), 'ä', ''])
      expect((await ask('GET', robots, { headers: { 'audit-id': wild } })).headers['audit-id']).toMatch(
        /^[0-9a-f-]{36}$/,
      );
  });

  test('is counted whatever comes of it', async () => {
    await make('a');
    await ask('GET', `${robots}/none`);
    await ask('BREW', robots);
    expect(counted).toEqual([
      { verb: 'create', code: 201 },
      { verb: 'get', code: 404 },
      { verb: 'BREW', code: 405 },
    ]);
  });

  test('ends in time, however long somebody takes to find out who it is', async () => {
    const response = await ask('GET', `${robots}?timeout=10ms`, { headers: { authorization: 'slow' } });
    expect([response.status, response.json().reason]).toEqual([504, 'Timeout']);
  });

  test('ends when its client leaves, and is no fault', async () => {
    const response = ask('GET', robots, { headers: { authorization: 'slow' } });
    gone.abort(new ClientGoneError('the client left'));
    expect((await response).status).toBe(504);
    expect(faults).toEqual([]);
  });

  test('brings the same call to all who decide about it', async () => {
    await make('a');
    const calls = new Set(asked.map(({ call }) => call));
    expect(calls.size).toBe(1);
    expect([...calls][0]?.trace).toBeUndefined();
  });

  test.each([
    [undefined, ['status 401']],
    ['visitor', ['user v', ...noted('forbid', 'no rule'), 'status 403']],
    ['master', ['user m', ...noted('allow', ''), 'rule=masters', 'status 200']],
    ['early', ['user y', 'status 503']],
    ['failing', ['user failing', 'authorization.k8s.io/reason=internal error', 'status 500']],
  ])('of %s is recorded with who it was, why, and what came of it', async (authorization, lines) => {
    await ask('GET', `${robots}?audited=1`, { headers: { authorization } });
    expect(recorded).toEqual(lines);
  });

  test.each([
    ['bob', 'as bob by impersonate:user-info', noted('forbid', 'no rule')],
    ['system:node:one', 'as system:node:one by impersonate:arbitrary-node', noted('forbid', 'no rule')],
  ])('that acts for %s is recorded with whom it acts for, and by which right', async (name, as, decision) => {
    await ask('GET', `${robots}?audited=1`, { headers: { 'impersonate-user': name } });
    expect(recorded).toEqual(['user m', as, ...decision, 'status 403']);
  });

  test('that acts for somebody by the classic right is recorded without a constraint', async () => {
    const headers = { authorization: 'manager', 'impersonate-user': 'bob' };
    await ask('GET', `${robots}?audited=1`, { headers });
    expect(recorded).toEqual(['user manager', 'as bob by impersonate', ...noted('forbid', 'no rule'), 'status 403']);
  });

  test('is recorded with what was sent and answered', async () => {
    const headers = { authorization: 'master', 'content-type': 'application/json' };
    const body = Buffer.from('{"metadata":{"name":"seen"}}');
    await ask('POST', `${robots}?audited=RequestResponse`, { headers, body });
    await ask('DELETE', `${robots}?audited=RequestResponse`, { headers });
    expect(recorded.filter((line) => /^(request|response|status)/.test(line))).toEqual([
      expect.stringMatching(/^request .*"name":"seen"/),
      expect.stringMatching(/^response .*"name":"seen".*"uid":/),
      'status 201',
      'response Success',
      'status 200',
    ]);
  });

  test('a fault of ours is told to the log and not to the client', async () => {
    const response = await ask('GET', '/broken/x');
    expect(response.status).toBe(500);
    expect(response.text).not.toContain('fault of ours');
    expect(faults).toHaveLength(1);
  });

  test.each(['', '0', '0s', '-0', '-5s', '%2B5s', '1000000%C2%B5s', '1000000%CE%BCs'])(
    'the timeout %j is none, or one that is long enough',
    async (timeout) => {
      expect((await ask('GET', `${robots}?timeout=${timeout}`)).status).toBe(200);
    },
  );

  test('an object cannot be exported', async () => {
    await make('a');
    expect((await ask('GET', `${robots}/a?export=true`)).status).toBe(400);
    expect((await ask('GET', `${robots}/a?export=false`)).status).toBe(200);
  });

  test('a timeout that is no duration is refused, and one that is too long is cut', async () => {
    expect((await ask('GET', `${robots}?timeout=soon`)).status).toBe(400);
    expect((await ask('GET', `${robots}?timeout=5`)).status).toBe(400);
    expect((await ask('GET', `${robots}?timeout=10h`)).status).toBe(200);
    // The second question mark begins nothing.
    expect((await ask('GET', `${robots}?dryRun=x?timeout=soon`)).status).toBe(200);
  });

  test('a client that would not wait is told that its time was over', async () => {
    const late = async (): Promise<never> => {
      await sleep(systemClock, 20);
      throw new StatusError('ServiceUnavailable', 'no answer in time');
    };
    const stage = boundTime({ clock: systemClock, requestTimeoutMs: 60_000 })(late);
    const asking = (target: string) =>
      stage({ request: { target } as ApiRequest, latency: new LatencyTracker(systemClock), auditId: 'a' });
    await expect(asking('/x?timeout=10ms')).rejects.toMatchObject({ reason: 'Timeout', code: 504 });
    await expect(asking('/x?timeout=10s')).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
    await expect(asking('/x')).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
  });
});

describe('paths', () => {
  test.each([
    ['GET', '/hello', 200],
    ['GET', '/hello/', 404],
    ['GET', '/HELLO', 404],
    ['POST', '/hello', 405],
    ['GET', '/hello%20', 404],
    ['GET', '/%68ello', 200],
    ['GET', '/nope', 404],
    ['GET', '/api/v1/gadgets', 404],
    ['GET', '/api/v9/namespaces/n/robots', 404],
    ['GET', '/apis/notes.example/v1/namespaces/n/notes', 200],
    ['GET', '/apis/notes.example/v1/namespaces/n/robots', 404],
    ['GET', '/api/v1/namespaces/n/notes', 404],
    ['GET', '/api/v1/robots/a', 404],
    ['GET', `${robots}/a/gadget`, 404],
    ['GET', `${robots}/a/token`, 405],
    ['POST', '/api/v1/watch/namespaces/n/robots/a/token', 404],
    ['GET', `${robots}/a/token/x`, 404],
    ['HEAD', robots, 405],
    ['OPTIONS', robots, 405],
    ['constructor', robots, 405],
    ['PUT', robots, 405],
    ['POST', '/api/v1/robots', 405],
    ['POST', '/api/v1/watch/namespaces/n/robots', 405],
    ['GET', '/api/v1/namespaces/%2e%2e/robots/a', 400],
    ['GET', '/api/v1/namespaces/./robots', 400],
    ['GET', `${robots}/%2e%2e`, 400],
    ['GET', `${robots}/%00`, 404],
    ['GET', `${robots}/%ff`, 404],
    ['GET', `${robots}/%`, 400],
  ])('%s %s answers %i', async (method, target, code) => {
    const { status } = await ask(method, target);
    expect(faults).toEqual([]);
    expect(status).toBe(code);
  });

  test.each([
    ['GET', '/api/v9', 'application/json'],
    ['GET', '/api/v9/robots', 'application/json'],
    ['GET', '/apis/notes.example/v9', 'application/json'],
    ['POST', '/apis/notes.example/v9/', 'application/json'],
    ['GET', '/apis/notes.example/v9/notes', 'application/json'],
    ['GET', '/apis/other.example/v1', 'text/plain'],
    ['GET', '/apis/other.example/v1/notes', 'text/plain'],
    ['GET', '/apis//v9', 'text/plain'],
    ['GET', '/nope/v9', 'text/plain'],
  ])('%s %s is unknown, which is said in a Status only within served groups: %s', async (method, target, type) => {
    const { status, headers } = await ask(method, target);
    expect([status, headers['content-type']]).toEqual([404, expect.stringContaining(type)]);
  });
});

describe('what stands behind an object', () => {
  const behind = `${robots}/a/token`;
  const asked = (request: object, headers = {}) => ask('POST', behind, { body: JSON.stringify(request), headers });

  test('is answered from the object, with its name and namespace, and stored nowhere', async () => {
    const { uid } = (await make('a')).json().metadata;
    const answer = await asked({ spec: { words: { a: 'b' } } });
    expect(answer.status).toBe(201);
    expect(answer.headers.warning).toEqual(['299 - "think twice"']);
    expect(answer.json()).toEqual({
      kind: 'Token',
      apiVersion: 'tokens.example/v3',
      metadata: { name: 'a', namespace: 'n' },
      spec: { words: { a: 'b', of: uid } },
    });
    expect((await ask('GET', '/api/v1/robots')).json().items).toHaveLength(1);
  });

  test('comes in the form that the client wants', async () => {
    await make('a');
    const binary = await asked({}, { accept: 'application/vnd.kubernetes.protobuf' });
    expect(parseProtobuf(binary.bytes as Buffer, () => token.schema).value).toMatchObject({ metadata: { name: 'a' } });
    expect((await asked({}, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' })).status).toBe(406);
  });

  test('is not found when the object is not', async () => {
    expect((await asked({})).json().message).toBe('robots "a" not found');
  });

  test.each([
    [{ metadata: { name: 'b' } }, '', 422, 'metadata.name'],
    [{ metadata: { namespace: 'm' } }, '', 400, 'namespace of the provided object'],
    [{ kind: 'Robot' }, '', 400, 'Robot'],
    [{ spec: { color: 1 } }, '?fieldValidation=Strict', 400, 'spec.color'],
    [{ spec: [] }, '', 400, 'spec'],
    [{}, '?dryRun=Some', 422, 'dryRun'],
  ])('is refused for %j%s', async (request, query, code, told) => {
    await make('a');
    const refused = await ask('POST', behind + query, { body: JSON.stringify(request) });
    expect(refused.status).toBe(code);
    expect(refused.json().message).toContain(told);
  });
});

describe('bodies', () => {
  test.each<[string, number, string | undefined, string]>([
    ['nothing', 400, undefined, ''],
    ['half of one', 400, undefined, '{"metadata":{"name":"a"'],
    ['a list', 400, undefined, '[]'],
    ['another kind', 400, undefined, '{"kind":"Pod","metadata":{"name":"a"}}'],
    ['another version', 400, undefined, '{"apiVersion":"v9","metadata":{"name":"a"}}'],
    ['a kind that is a number', 400, undefined, '{"kind":7,"metadata":{"name":"a"}}'],
    ['null', 422, undefined, 'null'],
    ['a wrong type', 400, undefined, '{"metadata":{"name":"a"},"arms":"two"}'],
    ['a form nobody reads', 415, 'text/plain', 'x'],
    ['a form by the name of what every object has', 415, 'constructor', '{}'],
    ['YAML said to be JSON', 400, 'application/json', 'metadata:\n  name: a\n'],
    ['YAML', 201, 'application/yaml; charset=utf-8', 'metadata:\n  name: a\n'],
    ['JSON with a strange type', 201, 'Application/JSON ; x=y', '{"metadata":{"name":"a"}}'],
    ['YAML beyond its limit', 413, 'application/yaml', `a: ${'x'.repeat(600_000)}`],
    ['more than the limit', 413, undefined, `{"metadata":{"name":"a"},"x":"${'x'.repeat(3 * 1024 * 1024)}"}`],
    ['deep nesting', 400, undefined, '{"a":'.repeat(20_000)],
  ])('%s is answered by %i', async (_, code, type, body) => {
    expect((await ask('POST', robots, { body, headers: { 'content-type': type } })).status).toBe(code);
    expect(faults).toEqual([]);
  });

  const doubtful = '{"metadata":{"name":"a"},"colour":{"x":1,"x":2},"arms":1,"arms":2,"words":{"__proto__":"p"}}';
  test('what the kind does not know is warned about, or refused, or dropped, as asked', async () => {
    const warned = await ask('POST', robots, { body: doubtful });
    expect(warned.headers.warning).toEqual([
      '299 - "duplicate field \\"arms\\""',
      '299 - "unknown field \\"colour\\""',
    ]);
    const refused = await ask('PUT', `${robots}/a?fieldValidation=Strict`, { body: doubtful });
    expect(refused.json().message).toContain('strict decoding error: duplicate field "arms", unknown field "colour"');
    const ignored = await ask('PUT', `${robots}/a?fieldValidation=Ignore`, { body: doubtful });
    expect(ignored.headers.warning).toBeUndefined();
    expect(JSON.parse(ignored.text)).toMatchObject({ arms: 2 });
    expect(ignored.text).toContain('"words":{"__proto__":"p"}');
    expect(({} as { p?: string }).p).toBeUndefined();
  });

  test('an option that nobody knows is refused before anything is written', async () => {
    for (const search of [
      'dryRun=Some',
      'dryRun=',
      'dryRun=All&dryRun=x',
      'fieldValidation=Loud',
      `fieldManager=${'m'.repeat(128)}`,
      'fieldManager=a%07',
    ]) {
      expect((await ask('POST', `${robots}?${search}`, { body: '{"metadata":{"name":"a"}}' })).status).toBe(422);
    }
    expect((await ask('GET', `${robots}/a`)).status).toBe(404);
  });

  test('options of a deletion come from the query where the body says nothing', async () => {
    await make('a');
    const withBody = (search: string, body: object) =>
      ask('DELETE', `${robots}/a?${search}`, { body: JSON.stringify(body) });
    expect((await withBody('dryRun=All', { kind: 'DeleteOptions' })).status).toBe(200);
    expect((await withBody('dryRun=Some', {})).status).toBe(422);
    expect((await withBody('', { preconditions: { uid: 'x' } })).status).toBe(409);
    expect((await withBody('', { gracePeriodSeconds: -1 })).status).toBe(422);
    expect((await withBody('', { kind: 'Pod' })).status).toBe(400);
    expect((await withBody('', { propagationPolicy: 7 })).status).toBe(400);
    expect((await ask('GET', `${robots}/a`)).status).toBe(200);
    expect((await withBody('propagationPolicy=Orphan', { propagationPolicy: 'Background' })).status).toBe(200);
    expect((await ask('GET', `${robots}/a`)).status).toBe(404);
  });
});

describe('answers', () => {
  test('one object in every form', async () => {
    await make('a', { arms: 2 });
    const plain = await ask('GET', `${robots}/a`);
    expect(
      plain.text.startsWith('{"kind":"Robot","apiVersion":"v1","metadata":{"name":"a","namespace":"n","uid":"'),
    ).toBe(true);
    expect(plain.text.endsWith('}\n')).toBe(true);
    expect(JSON.parse((await ask('GET', `${robots}/a?pretty=true`)).text)).toEqual(JSON.parse(plain.text));
    const yaml = await ask('GET', `${robots}/a`, { headers: { accept: 'application/yaml' } });
    expect(yaml.headers['content-type']).toBe('application/yaml');
    expect(yaml.text).toContain('\narms: 2\n');
    expect((await ask('GET', `${robots}/a`, { headers: { accept: 'image/png' } })).status).toBe(406);
  });

  test('a list longer than one turn of the event loop is a table, or a list of metadata, of all its objects', async () => {
    const names = Array.from({ length: 450 }, (_, n) => `r${1000 + n}`);
    for (const name of names) await make(name, { words: { x: 'ü' } });
    const accepting = (form: string) =>
      ask('GET', robots, { headers: { accept: `application/json;as=${form};v=v1;g=meta.k8s.io` } });
    const table = JSON.parse((await accepting('Table')).text);
    expect(table.columnDefinitions.length).toBe(2);
    expect(table.rows.map(({ cells }: { cells: string[] }) => cells[0])).toEqual(names);
    const list = (await accepting('PartialObjectMetadataList')).json();
    expect(list.items.map(({ metadata }) => metadata.name)).toEqual(names);
    expect(list.items[0]).not.toHaveProperty('words');
  });

  describe('as protobuf', () => {
    const type = 'application/vnd.kubernetes.protobuf';
    const { schema, listSchema } = robotKind;
    const robot = (metadata: object, apiVersion = 'v1') => ({ kind: 'Robot', apiVersion, metadata, arms: 2 });
    const send = (method: string, target: string, body: Buffer) =>
      ask(method, target, { body, headers: { accept: `${type},application/json`, 'content-type': type } });
    const post = (body: Buffer) => send('POST', robots, body);
    const read = ({ bytes = Buffer.alloc(0) }: { readonly bytes: Buffer | undefined }, form = schema) =>
      parseProtobuf(bytes, () => form).value;

    test('an object is created, answered, read and deleted', async () => {
      const created = await post(encodeProtobuf(schema, robot({ name: 'a' })));
      expect([created.status, created.headers['content-type']]).toEqual([201, type]);
      const json = (await ask('GET', `${robots}/a`)).json();
      expect(read(created)).toEqual(json);
      expect(read(await ask('GET', `${robots}/a`, { headers: { accept: type } }))).toEqual(json);
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'other' } };
      const refused = await send('DELETE', `${robots}/a`, encodeProtobuf(deleteOptions, options));
      expect([refused.status, refused.headers['content-type']]).toEqual([409, type]);
      expect(read(refused, statusSchema)).toMatchObject({
        kind: 'Status',
        apiVersion: 'v1',
        reason: 'Conflict',
        code: 409,
      });
      expect(
        (await send('DELETE', `${robots}/a`, encodeProtobuf(deleteOptions, { kind: '', apiVersion: '' }))).status,
      ).toBe(200);
    });

    test('a list of more objects than one turn of the event loop takes holds all of them', async () => {
      for (let n = 1000; n < 1300; n++) await make(`r${n}`, { words: { x: 'ü' } });
      const { items, metadata } = (await ask('GET', `${robots}?limit=250`)).json();
      const list = read(await ask('GET', `${robots}?limit=250`, { headers: { accept: type } }), listSchema);
      expect(list).toEqual({ kind: 'RobotList', apiVersion: 'v1', metadata, items });
    });

    test('metadata alone is there too', async () => {
      await make('a', { arms: 2 });
      const accept = (form: string) => ({ headers: { accept: `${type};as=${form};g=meta.k8s.io;v=v1` } });
      const { metadata } = (await ask('GET', `${robots}/a`)).json();
      const one = read(await ask('GET', `${robots}/a`, accept('PartialObjectMetadata')), partialMetadataSchema);
      expect(one).toEqual({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
      const many = await ask('GET', robots, accept('PartialObjectMetadataList'));
      expect(read(many, partialMetadataListSchema)).toMatchObject({ items: [{ metadata }] });
    });

    test.each<[string, Buffer]>([
      ['another version', encodeProtobuf(schema, robot({ name: 'a' }, 'v2'))],
      ['what is cut off', encodeProtobuf(schema, robot({ name: 'a' })).subarray(0, -3)],
      ['JSON', Buffer.from('{}')],
      ['nothing', Buffer.alloc(0)],
    ])('%s is refused', async (_, body) => {
      const refused = await post(body);
      expect([refused.status, faults]).toEqual([400, []]);
    });

    test('a kind without it neither takes nor gives it', async () => {
      const notes = '/apis/notes.example/v1/namespaces/n/notes';
      const sent = await ask('POST', notes, { body: Buffer.alloc(4), headers: { 'content-type': type } });
      expect(sent.json()).toMatchObject({ code: 415, message: expect.not.stringContaining(type) });
      expect((await ask('GET', notes, { headers: { accept: type } })).status).toBe(406);
    });
  });

  describe('through a view', () => {
    const machines = '/apis/machines.example/v2/namespaces/n/robots';
    const send = (method: string, target: string, body: object | string, type = 'application/json') =>
      ask(method, target, {
        body: typeof body === 'string' ? body : JSON.stringify(body),
        headers: { 'content-type': type },
      });
    const build = (limbs: number) => send('POST', machines, { metadata: { name: 'a' }, limbs });

    test('objects are the same under other names', async () => {
      const built = await build(2);
      expect(built.text).toMatch(/^{"kind":"Robot","apiVersion":"machines.example\/v2",.*"limbs":2}\n$/);
      const robot = (await ask('GET', `${robots}/a`)).json();
      expect(robot).toMatchObject({ apiVersion: 'v1', arms: 2 });
      const { apiVersion: _, limbs, ...same } = built.json() as Record<string, unknown>;
      expect({ ...same, apiVersion: 'v1', arms: limbs }).toEqual(robot);
      await make('b', { arms: 3 });
      const list = (await ask('GET', machines)).json();
      expect(list).toMatchObject({
        kind: 'RobotList',
        apiVersion: 'machines.example/v2',
        items: [{ limbs: 2 }, { limbs: 3 }],
      });
      expect(Object.keys(list.items[0] as object)).toEqual(['metadata', 'limbs']);
      expect((await ask('GET', `${machines}?fieldSelector=limbs%3D3`)).json().items.length).toBe(1);
      expect((await ask('GET', `${machines}?fieldSelector=arms%3D3`)).status).toBe(400);
    });

    test.each([
      ['application/json-patch+json', [{ op: 'replace', path: '/limbs', value: 4 }]],
      ['application/merge-patch+json', { limbs: 4 }],
      ['application/strategic-merge-patch+json', { limbs: 4 }],
      [
        'application/apply-patch+yaml',
        { kind: 'Robot', apiVersion: 'machines.example/v2', metadata: { name: 'a' }, limbs: 4 },
      ],
    ])('a patch of type %s speaks of its names', async (type, patch) => {
      await build(2);
      // A field that another manager has is only given to an apply that takes it by force.
      const force = type === 'application/apply-patch+yaml' ? '&force=true' : '';
      const patched = await send('PATCH', `${machines}/a?fieldManager=m${force}`, patch, type);
      expect([patched.status, patched.json()]).toMatchObject([200, { apiVersion: 'machines.example/v2', limbs: 4 }]);
      expect((await ask('GET', `${robots}/a`)).json()).toMatchObject({ apiVersion: 'v1', arms: 4 });
    });

    test('unknown names are those that it does not know', async () => {
      await build(2);
      for (const type of ['application/merge-patch+json', 'application/apply-patch+yaml']) {
        const body = { kind: 'Robot', apiVersion: 'machines.example/v2', metadata: { name: 'a' }, arms: 5 };
        const strict = await send('PATCH', `${machines}/a?fieldManager=m&fieldValidation=Strict`, body, type);
        expect([strict.status, strict.json().message]).toEqual([400, expect.stringContaining('unknown field "arms"')]);
      }
      expect((await send('POST', machines, { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'b' } })).status).toBe(
        400,
      );
    });

    test('it has rules of its own, whose mistakes are told of the stored form', async () => {
      expect((await build(-1)).json()).toMatchObject({
        code: 422,
        message: expect.stringMatching(/^Robot "a" is invalid: arms/),
      });
      await build(2);
      expect((await send('PUT', `${machines}/a`, { metadata: { name: 'a' }, limbs: 1 })).status).toBe(422);
      expect((await send('PUT', `${robots}/a`, { metadata: { name: 'a' }, arms: 1 })).status).toBe(200);
    });

    test('answers name the group that was asked', async () => {
      const missing = await ask('GET', `${machines}/none`);
      expect(missing.json()).toMatchObject({
        message: 'robots.machines.example "none" not found',
        details: { group: 'machines.example' },
      });
      const all = await ask('DELETE', machines);
      expect(all.json()).toMatchObject({ details: { group: 'machines.example', kind: 'robots' } });
    });

    test('every form is that of the view', async () => {
      await build(2);
      const accept = (type: string) => ask('GET', `${machines}/a?includeObject=Object`, { headers: { accept: type } });
      const json = (await ask('GET', `${machines}/a`)).json();
      const protobuf = await accept('application/vnd.kubernetes.protobuf');
      expect(parseProtobuf(protobuf.bytes as Buffer, () => machineKind.schema).value).toEqual(json);
      const table = JSON.parse((await accept('application/json;as=Table;v=v1;g=meta.k8s.io')).text);
      expect(table.rows[0].object).toEqual(json);
      expect((await accept('application/yaml')).text).toContain('limbs: 2');
    });

    test('a watch shows what is written under the other names', async () => {
      await make('a', { arms: 1 });
      const { body } = await ask('GET', `${machines}?watch=true&timeoutSeconds=1`);
      const told: Buffer[] = [];
      const signal = new AbortController().signal;
      await (body as Streaming).stream({
        write: (bytes) => void told.push(bytes),
        backlogBytes: 0,
        drained: async () => {},
        signal,
        draining: signal,
      });
      expect(JSON.parse(Buffer.concat(told).toString())).toMatchObject({
        type: 'ADDED',
        object: { apiVersion: 'machines.example/v2', limbs: 1 },
      });
    });
  });

  test('a Status stays a Status, whatever else would be shown', async () => {
    await make('a');
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    expect((await ask('DELETE', robots, { headers: { accept } })).json()).toMatchObject({ kind: 'Status' });
    const missing = await ask('GET', `${robots}/a`, { headers: { accept } });
    expect([missing.status, missing.json()]).toMatchObject([404, { kind: 'Status', reason: 'NotFound' }]);
  });

  test('what cannot be answered as asked is refused before it is done', async () => {
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
    const refused = await ask('POST', `${robots}?includeObject=All`, {
      headers: { accept },
      body: JSON.stringify({ metadata: { name: 'a' } }),
    });
    expect(refused.status).toBe(400);
    expect((await ask('GET', `${robots}/a`)).status).toBe(404);
  });

  test.each([
    ['gzip', 1, true],
    ['deflate, gzip;q=0.5', 1, true],
    ['gzip', 0, false],
    ['gzip;q=0', 1, false],
    ['deflate', 1, false],
    ['', 1, false],
  ])(
    'with Accept-Encoding %j and %d large objects, whether the list comes compressed is %s',
    async (accepted, large, compressed) => {
      for (let n = 0; n < large; n++) await make(`a${n}`, { words: { x: 'ü'.repeat(80_000) } });
      const plain = await ask('GET', robots);
      const answer = await ask('GET', robots, { headers: { 'accept-encoding': accepted } });
      expect(answer.headers['content-encoding']).toBe(compressed ? 'gzip' : undefined);
      const bytes = answer.bytes as Buffer;
      expect((compressed ? gunzipSync(bytes) : bytes).toString()).toBe(plain.text);
    },
  );

  test('a list ends with the time that the client gives it', async () => {
    unanswered = true;
    const late = await ask('GET', `${robots}?timeoutSeconds=1`);
    expect(late.status).toBe(504);
    expect(late.json().reason).toBe('Timeout');
  });

  test('a list says kind and version once', async () => {
    expect((await ask('GET', robots)).text).toMatch(
      /^\{"kind":"RobotList","apiVersion":"v1","metadata":\{"resourceVersion":"\d+"\},"items":\[\]\}\n$/,
    );
    await make('a');
    await make('b', { arms: 1 });
    const { items } = (await ask('GET', '/api/v1/robots')).json();
    expect(items.map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
    expect(Object.keys(items[0] as object)).toEqual(['metadata']);
  });

  test('a merge patch changes what it names, and what it may not is refused', async () => {
    await make('a', { arms: 2, words: { x: '1' } });
    const patch = (body: unknown, type = 'application/merge-patch+json', search = '') =>
      ask('PATCH', `${robots}/a${search}`, { body: JSON.stringify(body), headers: { 'content-type': type } });
    expect((await patch({ arms: null, words: { y: '2' } })).json()).toMatchObject({ words: { x: '1', y: '2' } });
    for (const [body, type, search, code] of [
      [[], undefined, '', 400],
      [{ kind: 'Pod' }, undefined, '', 422],
      [{ arms: 'x' }, undefined, '', 422],
      [{ metadata: { name: 'b' } }, undefined, '', 400],
      [{ metadata: { resourceVersion: '1' } }, undefined, '', 409],
      [{ $patch: 'bogus' }, 'application/strategic-merge-patch+json', '', 400],
      [{ colour: 1 }, undefined, '?fieldValidation=Strict', 400],
      [{}, undefined, '?force=true', 422],
      [{}, 'application/json', '', 415],
      [{}, 'constructor', '', 415],
    ] as const) {
      expect((await patch(body, type, search)).status).toBe(code);
    }
    expect(faults).toEqual([]);
  });

  test('a JSON patch is carried out whole, or refused with what is wrong with it', async () => {
    await make('a', { arms: 2, words: { x: '1' } });
    const patch = (body: unknown, search = '') =>
      ask('PATCH', `${robots}/a${search}`, {
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json-patch+json' },
      });
    const set = (path: string, value: unknown) => ({ op: 'replace', path, value });
    expect((await patch([set('/words/x', '2'), set('/arms', 3)])).json()).toMatchObject({ arms: 3, words: { x: '2' } });
    const warned = await patch([{ ...set('/arms', 3), colour: 'blue' }]);
    expect(warned.headers['warning']).toEqual(['299 - "json patch unknown field \\"[0].colour\\""']);
    for (const [body, search, code] of [
      [{}, '', 400],
      [[1], '', 400],
      [[{ op: 7 }], '', 400],
      [[set('/arms', 'x')], '', 422],
      [[set('', 'x')], '', 422],
      [[set('/kind', 'Pod')], '', 422],
      [[{ op: 'test', path: '/arms', value: 4 }], '', 422],
      [[{ op: 'explode', path: '' }], '', 422],
      [[set('/arms', 3)], '?force=false', 422],
      [[{ ...set('/arms', 3), colour: 'blue' }], '?fieldValidation=Strict', 400],
      [[set('/colour', 'blue')], '?fieldValidation=Strict', 400],
      [Array.from({ length: 10_001 }, () => set('/arms', 3)), '', 413],
    ] as const) {
      expect((await patch(body, search)).status).toBe(code);
    }
    const deep = `[{"op":"add","path":"/metadata/managedFields","value":[{"fieldsV1":${'{"f:a":'.repeat(9_000)}1${'}'.repeat(9_000)}}]}]`;
    const answer = await ask('PATCH', `${robots}/a`, {
      body: deep,
      headers: { 'content-type': 'application/json-patch+json' },
    });
    expect(answer.status).toBeLessThan(500);
    expect(faults).toEqual([]);
  });

  test('an apply creates, changes and is refused, in YAML or in JSON', async () => {
    const apply = (body: string, search = '?fieldManager=m') =>
      ask('PATCH', `${robots}/a${search}`, { body, headers: { 'content-type': 'application/apply-patch+yaml' } });
    const head = 'kind: Robot\napiVersion: v1\nmetadata: {name: a}\n';
    const created = await apply(`${head}arms: 2\nwords: {x: "1"}\n`);
    expect(created.status).toBe(201);
    expect(created.json()).toMatchObject({ arms: 2, words: { x: '1' } });
    const json = { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'a' }, arms: 3 };
    const changed = await apply(JSON.stringify(json));
    expect(changed.status).toBe(200);
    expect(changed.json()).not.toHaveProperty('words');
    const warned = await apply(`${head}arms: 3\ncolour: blue\n`);
    expect(warned.headers['warning']).toEqual(['299 - "unknown field \\"colour\\""']);
    for (const [body, search, code] of [
      [`${head}arms: 4`, '?fieldManager=other', 409],
      [`${head}arms: 3`, '', 422],
      [`${head}arms: 3`, '?fieldManager=', 422],
      [`${head}arms: 3`, `?fieldManager=${'m'.repeat(200)}`, 422],
      [`${head}arms: x`, undefined, 400],
      [`${head}colour: blue`, '?fieldManager=m&fieldValidation=Strict', 400],
      [`${head}arms: 3\narms: 3`, '?fieldManager=m&fieldValidation=Strict', 400],
      ['metadata: {name: a}', undefined, 400],
      ['kind: Pod\napiVersion: v1\nmetadata: {name: a}', undefined, 400],
      ['kind: Robot\napiVersion: v2\nmetadata: {name: a}', undefined, 400],
      ['kind: Robot\napiVersion: v1\nmetadata: {name: a, managedFields: []}', undefined, 400],
      ['a: [b\nc: }', undefined, 400],
      ['- a', undefined, 400],
      ['', undefined, 400],
      [`# ${'x'.repeat(600_000)}`, undefined, 413],
    ] as const) {
      expect((await apply(body, search)).status).toBe(code);
    }
    expect((await apply(`${head}arms: 4`, '?fieldManager=other&force=true')).json()).toMatchObject({ arms: 4 });
    expect(faults).toEqual([]);
  });
});

describe.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf', 'prototype'])(
  'the name %s, which objects of JavaScript have,',
  (name) => {
    test.each([
      ['GET', `/api/v1/${name}`],
      ['GET', `/api/v1/namespaces/n/${name}`],
      ['GET', `/api/v1/namespaces/n/${name}/a`],
      ['GET', `/api/${name}/robots`],
      ['GET', `/apis/${name}/v1/robots`],
      ['GET', `/apis/machines.example/${name}/machines`],
      ['GET', `${robots}/a/${name}`],
      ['POST', `${robots}/a/${name}`],
      ['PATCH', `${robots}/a/${name}`],
      ['GET', `/${name}`],
      ['GET', `/broken/${name}/x`],
      [name, robots],
      [name, '/hello'],
    ])('is found nowhere by %s %s', async (method, target) => {
      await make('a');
      expect([404, 405]).toContain((await ask(method, target)).status);
      expect(faults).toEqual([]);
    });

    test.each([
      ['GET', `${robots}?${name}=x`, {}, 200],
      ['GET', `${robots}?pretty=${name}`, {}, 200],
      // No label begins with an underscore.
      ['GET', `${robots}?labelSelector=${name}%3D${name}`, {}, name.startsWith('_') ? 400 : 200],
      ['GET', `${robots}?fieldSelector=${name}%3Dx`, {}, 400],
      ['GET', `${robots}?resourceVersionMatch=${name}&resourceVersion=1`, {}, 422],
      ['GET', `${robots}?continue=${name}`, {}, 400],
      ['GET', `${robots}?includeObject=${name}`, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }, 400],
      ['GET', robots, { accept: name }, 406],
      ['GET', robots, { accept: `application/${name}` }, 406],
      ['GET', robots, { accept: `application/json;as=${name};g=meta.k8s.io;v=v1` }, 406],
      ['GET', robots, { accept: `application/json;as=Table;g=${name};v=v1` }, 406],
      ['GET', robots, { accept: `application/json;as=Table;g=meta.k8s.io;v=${name}` }, 406],
      ['GET', robots, { accept: `application/json;${name}=${name}` }, 200],
      ['GET', robots, { 'accept-encoding': name, origin: name, 'audit-id': name, 'user-agent': name }, 200],
      ['POST', robots, { 'content-type': name }, 415],
      ['POST', robots, { 'content-type': `application/${name}` }, 415],
      ['POST', `${robots}?fieldValidation=${name}`, {}, 422],
      ['POST', `${robots}?dryRun=${name}`, {}, 422],
      ['PATCH', `${robots}/a`, { 'content-type': name }, 415],
      ['PATCH', `${robots}/a`, { 'content-type': `application/${name}` }, 415],
      ['DELETE', `${robots}/a?propagationPolicy=${name}`, {}, 422],
      ['DELETE', `${robots}/${name}`, {}, 404],
    ] as const)('means nothing in %s %s with %j', async (method, target, headers, status) => {
      await make('a');
      const body = method === 'POST' ? JSON.stringify({ metadata: { name: 'b' } }) : '';
      expect((await ask(method, target, { body, headers })).status).toBe(status);
      expect(faults).toEqual([]);
    });
  },
);
