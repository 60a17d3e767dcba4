import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { encodeProtobuf, formatYaml, type TypeNames } from '@cluster-apiserver/model/codec';
import type { ApiResponse } from '@cluster-apiserver/pipeline';
import { type InMemoryServer, serveInMemory } from '../serve-in-memory.ts';

/**
 * Every kind of write of a large object, on two servers: on one no time passes, so each write is one step; on the other
 * each step exceeds the time slice. Both must return the same responses.
 */
const nowMs = Date.UTC(2026, 0, 1);
const timeless: Clock = { ...systemClock, now: () => nowMs, monotonicMs: () => 0 };

/** Longer than a time slice. */
const stepMs = 10;
/** Responses to other requests during a write. Each shows an event-loop iteration that was free. */
const answersMin = 2;

let turns = 0;
let slow: Clock;
let plain: InMemoryServer;
let sliced: InMemoryServer;

beforeEach(async () => {
  let ms = 0;
  turns = 0;
  slow = {
    ...timeless,
    monotonicMs: () => (ms += stepMs),
    soon: (callback) => {
      turns++;
      setImmediate(callback);
    },
  };
  plain = await serveInMemory({ clock: timeless });
  sliced = await serveInMemory({ clock: slow });
});
afterEach(async () => {
  expect([...plain.reportedErrors, ...sliced.reportedErrors]).toEqual([]);
  await Promise.all([plain.close(), sliced.close()]);
});

/** Enough for a body of more than 32 KiB and a stored value of twice that. */
const count = 3_000;
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const events = '/api/v1/namespaces/default/events';
const newEvents = '/apis/events.k8s.io/v1/namespaces/default/events';
const polite = `${accounts}/polite`;

const types = {
  json: 'application/json',
  yaml: 'application/yaml',
  protobuf: 'application/vnd.kubernetes.protobuf',
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  operations: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
} as const;

interface Request {
  readonly method: string;
  readonly target: string;
  readonly body: Buffer;
  readonly type: string;
}
const request = (method: string, target: string, type: keyof typeof types, body: Buffer | object): Request => ({
  method,
  target,
  type: types[type],
  body: Buffer.isBuffer(body) ? body : Buffer.from(JSON.stringify(body)),
});

const numbers = (amount: number): number[] => Array.from({ length: amount }, (_, i) => i);
const secrets = (prefix: string, amount = count): { name: string }[] =>
  numbers(amount).map((i) => ({ name: `${prefix}${i}` }));
const annotations = (value: string, amount = count): Record<string, string> =>
  Object.fromEntries(numbers(amount).map((i) => [`a${i}`, value]));

interface Account extends TypeNames {
  readonly metadata: object;
}
const account = (more: object = {}, metadata: object = {}): Account => ({
  kind: 'ServiceAccount',
  apiVersion: 'v1',
  metadata: { name: 'large', ...metadata },
  ...more,
});
const event = (metadata: object): object => ({
  kind: 'Event',
  apiVersion: 'v1',
  metadata: { name: 'large', ...metadata },
  involvedObject: { namespace: 'default', name: 'x' },
});
const newEvent = (metadata: object): object => ({
  kind: 'Event',
  apiVersion: 'events.k8s.io/v1',
  metadata: { name: 'large', namespace: 'default', ...metadata },
  eventTime: '2026-01-01T00:00:00.000000Z',
  reportingController: 'e.com/c',
  reportingInstance: 'i',
  action: 'a',
  reason: 'r',
  type: 'Normal',
  regarding: { namespace: 'default', name: 'x' },
});

const { schema } = kinds({ eventLifetimeSeconds: 0, serviceAccountTokens: undefined }).find(
  ({ kind }) => kind === 'ServiceAccount',
) as ReturnType<typeof kinds>[number];

const createAccount = request('POST', accounts, 'json', account({ secrets: secrets('s') }));
const createEvent = request('POST', events, 'json', event({ annotations: annotations('v') }));
const createNewEvent = request('POST', newEvents, 'json', newEvent({ annotations: annotations('v') }));
const applyAccount = (manager: string, body: object): Request =>
  request('PATCH', `${accounts}/large?fieldManager=${manager}`, 'apply', body);
const applied = applyAccount('one', account({ secrets: secrets('s') }));

/** Small configurations, whose owners make an object of 300 kB. */
const shared = (prefix: string): object => ({
  secrets: secrets(prefix, 60).map(({ name }) => ({ name, namespace: prefix })),
});
const ofManyManagers = numbers(153).map((i) => applyAccount(`m${i}`, account({ secrets: secrets('w', 60) })));

type Case = readonly [what: string, before: readonly Request[], write: Request, status: number];

const patches = (target: string, create: Request): readonly Case[] => [
  [
    'a strategic patch',
    [create],
    request('PATCH', target, 'strategic', { metadata: { annotations: annotations('w') } }),
    200,
  ],
  ['a merge patch', [create], request('PATCH', target, 'merge', { metadata: { annotations: annotations('w') } }), 200],
  ['a merge patch of a label', [create], request('PATCH', target, 'merge', { metadata: { labels: { a: 'b' } } }), 200],
  [
    'a JSON patch',
    [create],
    request('PATCH', target, 'operations', [
      { op: 'add', path: '/metadata/annotations', value: {} },
      ...numbers(1_000).map((i) => ({ op: 'add', path: `/metadata/annotations/p${i}`, value: 'x' })),
    ]),
    200,
  ],
  ['a patch that is refused', [create], request('PATCH', target, 'merge', { metadata: { labels: { '-': '-' } } }), 422],
];

const cases: Readonly<Record<string, readonly Case[]>> = {
  'service accounts': [
    ['a create', [], createAccount, 201],
    [
      'a create from YAML',
      [],
      request('POST', accounts, 'yaml', Buffer.from(formatYaml(account({ secrets: secrets('s') })))),
      201,
    ],
    [
      'a create from protobuf',
      [],
      request('POST', accounts, 'protobuf', encodeProtobuf(schema, account({ secrets: secrets('s') }))),
      201,
    ],
    ['a create of what is there', [createAccount], createAccount, 409],
    [
      'a create with a bad annotation',
      [],
      request('POST', accounts, 'json', account({ secrets: secrets('s') }, { annotations: { '-': '' } })),
      422,
    ],
    [
      'a create that unknown fields refuse',
      [],
      request('POST', `${accounts}?fieldValidation=Strict`, 'json', account({ secrets: secrets('s'), colour: 'blue' })),
      400,
    ],
    ['a create with an end missing', [], { ...createAccount, body: createAccount.body.subarray(0, -1) }, 400],
    [
      'a create of more than may be stored',
      [],
      request('POST', accounts, 'json', account({ secrets: secrets('s', 12_000) })),
      413,
    ],
    [
      'a replace',
      [createAccount],
      request('PUT', `${accounts}/large`, 'json', account({ secrets: secrets('t') })),
      200,
    ],
    [
      'a replace with the same',
      [createAccount],
      request('PUT', `${accounts}/large`, 'json', account({ secrets: secrets('s') })),
      200,
    ],
    [
      'a replace of an older version',
      [createAccount],
      request('PUT', `${accounts}/large`, 'json', account({ secrets: secrets('t') }, { resourceVersion: '1' })),
      409,
    ],
    ...patches(`${accounts}/large`, createAccount),
    [
      'a strategic patch that reorders',
      [createAccount],
      request('PATCH', `${accounts}/large`, 'strategic', { secrets: secrets('s').toReversed() }),
      200,
    ],
    [
      'a JSON patch that doubles a value',
      [request('POST', accounts, 'json', account())],
      request('PATCH', `${accounts}/large`, 'operations', [
        { op: 'add', path: '/doubled', value: { a: 'x' } },
        ...numbers(40).map((i) => ({ op: 'copy', from: '/doubled', path: `/doubled/copy-${i}` })),
      ]),
      422,
    ],
    ['an apply', [], applied, 201],
    ['an apply of the same', [applied], applied, 200],
    ['an apply of others', [applied], applyAccount('one', account({ secrets: secrets('t') })), 200],
    [
      'an apply that conflicts',
      [applied],
      applyAccount('two', account({ secrets: secrets('s').map((entry) => ({ ...entry, namespace: 'x' })) })),
      409,
    ],
    [
      'an apply by force',
      [applied],
      applyAccount('two&force=true', account({ secrets: secrets('s').map((entry) => ({ ...entry, namespace: 'x' })) })),
      200,
    ],
    ['an apply among many managers', ofManyManagers, applyAccount('m1&force=true', account(shared('w'))), 200],
    ['an apply that conflicts with many managers', ofManyManagers, applyAccount('other', account(shared('w'))), 409],
    ['a delete', [createAccount], request('DELETE', `${accounts}/large`, 'json', {}), 200],
  ],
  events: [
    ['a create', [], createEvent, 201],
    [
      'a replace',
      [createEvent],
      request('PUT', `${events}/large`, 'json', event({ annotations: annotations('w') })),
      200,
    ],
    [
      'a replace that creates',
      [],
      request('PUT', `${events}/large`, 'json', event({ annotations: annotations('v') })),
      201,
    ],
    ...patches(`${events}/large`, createEvent),
  ],
  'events of events.k8s.io': [
    ['a create', [], createNewEvent, 201],
    [
      'a replace',
      [createNewEvent],
      request('PUT', `${newEvents}/large`, 'json', newEvent({ annotations: annotations('w') })),
      200,
    ],
    ...patches(`${newEvents}/large`, createNewEvent),
    [
      'an apply',
      [],
      request('PATCH', `${newEvents}/large?fieldManager=one`, 'apply', newEvent({ annotations: annotations('v') })),
      201,
    ],
  ],
};

const send = (server: InMemoryServer, { method, target, body, type }: Request): Promise<ApiResponse> =>
  server.request(method, target, body, type);

async function answerOf(answer: Promise<ApiResponse>): Promise<{ readonly status: number; readonly text: string }> {
  const { status, body } = await answer;
  return { status, text: (await bytesOf(body)).toString() };
}

async function bytesOf(body: ApiResponse['body']): Promise<Buffer> {
  if (typeof body === 'string') return Buffer.from(body, 'latin1');
  if (Buffer.isBuffer(body)) return body;
  if (!body) throw new TypeError('an unexpected kind of body');
  const pieces: Buffer[] = [];
  for (;;) {
    const piece = await body.next(65_536, Buffer.allocUnsafe);
    if (!piece) return Buffer.concat(pieces);
    pieces.push(Buffer.from(piece));
  }
}

async function prepare(server: InMemoryServer, before: readonly Request[]): Promise<void> {
  const made = request('POST', accounts, 'json', account({}, { name: 'polite' }));
  for (const one of [made, ...before]) expect((await send(server, one)).status).toBeLessThan(300);
  // Wait until the write has reached the watch cache, as it does a moment later for every client.
  expect((await answerOf(server.request('GET', polite))).status).toBe(200);
}

describe.each(Object.keys(cases))('%s', (group) => {
  test.each(cases[group] as Case[])(
    '%s lets other requests be served and gets the same response',
    async (_, before, write, status) => {
      await Promise.all([prepare(plain, before), prepare(sliced, before)]);
      const expected = await answerOf(send(plain, write));
      let isOver = false;
      const answer = answerOf(send(sliced, write)).finally(() => (isOver = true));
      let answers = 0;
      while (!isOver) {
        expect((await sliced.request('GET', `${polite}?resourceVersion=0`)).status).toBe(200);
        if (!isOver) answers++;
        await new Promise(setImmediate);
      }
      expect(await answer).toEqual(expected);
      expect(expected.status).toBe(status);
      expect(turns).toBeGreaterThanOrEqual(answersMin);
      expect(answers).toBeGreaterThanOrEqual(answersMin);
    },
  );
});
