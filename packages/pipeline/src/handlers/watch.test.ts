import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { callUntil, seededRandom, systemClock } from '@cluster-apiserver/base';
import { decode, type KubeObject, parseProtobuf, statusSchema } from '@cluster-apiserver/model';
import { create, openRegistry, type Registry, type Resource } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/storage';
import type { ApiRequest, Sink } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { type HandClock, handClock } from '../node/testing.ts';
import { requestInfo } from '../request-info.ts';
import { robotKind } from '../../../registry/test/robot-kind.ts';
import { watchHandler } from './watch.ts';

const kind = robotKind;
const call = callUntil(Number.POSITIVE_INFINITY);
const random = seededRandom(1);
let memory: ReturnType<typeof memoryStore>;
let registry: Registry;
let faults: unknown[];
let resource: Resource;
/** What the handler waits by. */
let clock: HandClock;
let watchRobots: ReturnType<typeof watchHandler>;

beforeEach(() => {
  memory = memoryStore(systemClock);
  faults = [];
  clock = handClock();
  registry = openRegistry({
    kinds: [kind],
    store: memory,
    keyPrefix: '/registry',
    clock: systemClock,
    random,
    report: () => {},
  });
  resource = registry.resources[0] as Resource;
  watchRobots = watchHandler(resource, {
    clock,
    random,
    minRequestTimeoutMs: 1_800_000,
    report: (error) => faults.push(error),
  });
});
afterEach(async () => {
  await registry.cache.close();
  memory.close();
});

/** A client that reads nothing while it is blocked. */
class Client implements Sink {
  readonly leaving = new AbortController();
  readonly closing = new AbortController();
  readonly signal = this.leaving.signal;
  readonly draining = this.closing.signal;
  readonly lines: string[] = [];
  readonly bytes: Buffer[] = [];
  blocked = false;
  #backlog: Buffer[] = [];
  #waiting: (() => void)[] = [];
  ended = false;

  write(bytes: Buffer): void {
    this.#backlog.push(bytes);
    if (!this.blocked) this.read();
  }

  read(): void {
    for (const bytes of this.#backlog.splice(0)) {
      this.bytes.push(bytes);
      this.lines.push(...bytes.toString().split('\n').slice(0, -1));
    }
    for (const wake of this.#waiting.splice(0)) wake();
  }

  get backlogBytes(): number {
    return this.#backlog.reduce((sum, { length }) => sum + length, 0);
  }

  drained(): Promise<void> {
    return this.#backlog.length === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }

  get events(): string[] {
    return this.lines.map((line) => {
      const { type, object } = JSON.parse(line) as { type: string; object: KubeObject & { code?: number } };
      return `${type} ${object.metadata.name ?? object.code ?? object.metadata.resourceVersion}`;
    });
  }
}

async function begin(query: string, accept?: string, webSocket = false): Promise<Client> {
  const target = `/api/v1/namespaces/n/robots?watch=true&${query}`;
  const facts = {
    info: requestInfo('GET', target),
    call,
    auditId: 'a',
    request: { webSocket, header: (name: string) => (name === 'accept' ? accept : undefined) } as ApiRequest,
    warnings: new Set<string>(),
  } as unknown as Authenticated;
  const { body, status } = await watchRobots(facts);
  const client = new Client();
  expect(status).toBe(webSocket ? 101 : 200);
  if (typeof body !== 'object' || !('stream' in body)) throw new Error('it is no stream');
  void body.stream(client).then(() => (client.ended = true));
  return client;
}

const make = async (name: string, annotations = {}) =>
  (
    await create(
      resource,
      decode(kind.schema, { kind: 'Robot', apiVersion: 'v1', metadata: { name, annotations } }, () => {}) as KubeObject,
      { namespace: 'n', dryRun: false, manager: 'm', warn: () => {} },
      call,
    )
  ).revision as number;

async function until(fact: () => boolean): Promise<void> {
  while (!fact()) await new Promise(setImmediate);
}
const settled = async (): Promise<void> => {
  await resource.collection.reach(undefined, call);
  for (let turns = 0; turns < 5; turns++) await new Promise(setImmediate);
};

test('bookmarks come every minute and with the end, and tell how far the client is', async () => {
  const first = await make('a');
  const client = await begin(`resourceVersion=${first}&allowWatchBookmarks=true&timeoutSeconds=150`);
  const second = await make('b');
  await until(() => client.lines.length === 1);
  clock.advance(60_000);
  expect(client.events).toEqual(['ADDED b', `BOOKMARK ${second}`]);
  clock.advance(90_000);
  expect(client.events.slice(2)).toEqual([`BOOKMARK ${second}`, `BOOKMARK ${second}`]);
  await until(() => client.ended);
});

test('who did not ask for bookmarks gets none, and the end all the same', async () => {
  const client = await begin(`resourceVersion=${await make('a')}&timeoutSeconds=150`);
  clock.advance(150_000);
  await until(() => client.ended);
  expect(client.lines).toEqual([]);
});

test('a watch without an end of its own ends after half an hour to an hour', async () => {
  const client = await begin(`resourceVersion=${await make('a')}`);
  clock.advance(1_799_000);
  await settled();
  expect(client.ended).toBe(false);
  clock.advance(1_801_000);
  await until(() => client.ended);
});

test('a server that closes parts from its clients with a bookmark', async () => {
  const first = await make('a');
  const client = await begin(`resourceVersion=${first}&allowWatchBookmarks=true`);
  client.closing.abort();
  await until(() => client.ended);
  expect(client.events).toEqual([`BOOKMARK ${first}`]);
});

test('a client that leaves ends its watch, and what comes later is not written', async () => {
  const client = await begin(`resourceVersion=${await make('a')}`);
  client.leaving.abort();
  await until(() => client.ended);
  await make('b');
  await settled();
  expect(client.lines).toEqual([]);
});

test('the end of the beginning carries both names', async () => {
  const client = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
  await until(() => client.lines.length === 1);
  expect(JSON.parse(client.lines[0] as string).object).toEqual({
    kind: 'Robot',
    apiVersion: 'v1',
    metadata: {
      resourceVersion: expect.any(String),
      annotations: { 'k8s.io/initial-events-end': 'true', 'platform.io/initial-events-end': 'true' },
    },
  });
});

test('as tables only the first event names the columns, to each watcher', async () => {
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
  await make('a');
  await make('b');
  const first = await begin('', accept);
  await until(() => first.lines.length === 2);
  const second = await begin('', accept);
  await make('c');
  for (const client of [first, second]) {
    await until(() => client.lines.length === 3);
    const tables = client.lines.map((line) => JSON.parse(line).object);
    expect(tables.map(({ columnDefinitions }) => columnDefinitions?.length)).toEqual([2, undefined, undefined]);
    expect(tables.map(({ rows: [row] }) => row.cells[0])).toEqual(['a', 'b', 'c']);
  }
});

test('as metadata an event has nothing else, and what ends the watch is told as ever', async () => {
  const accept = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
  const client = await begin(`resourceVersion=${await make('a')}&allowWatchBookmarks=true`, accept);
  const second = await make('b');
  await until(() => client.lines.length === 1);
  client.closing.abort();
  await until(() => client.ended);
  expect(client.events).toEqual(['ADDED b', `BOOKMARK ${second}`]);
  for (const line of client.lines)
    expect(Object.keys(JSON.parse(line).object)).toEqual(['kind', 'apiVersion', 'metadata']);
  const failed = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000', accept);
  await until(() => failed.ended);
  expect(failed.events).toEqual(['ERROR 504']);
});

test('as protobuf each event is a frame with its length before it, what ends the watch too', async () => {
  const accept =
    'application/vnd.kubernetes.protobuf;stream=watch,application/vnd.kubernetes.protobuf,application/json';
  const client = await begin(`resourceVersion=${await make('a')}&allowWatchBookmarks=true`, accept);
  const from = `resourceVersion=${await make('b')}`;
  await until(() => client.bytes.length === 1);
  client.closing.abort();
  await until(() => client.ended);
  const failed = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000', accept);
  await until(() => failed.ended);
  const told = [...client.bytes, ...failed.bytes].map((frame) => {
    expect(frame.readUInt32BE() + 4).toBe(frame.length);
    const at = frame.indexOf('k8s\0');
    const type = frame.subarray(6, 6 + (frame[5] as number)).toString();
    const { value } = parseProtobuf(frame.subarray(at), ({ kind: name }) =>
      name === 'Status' ? statusSchema : kind.schema,
    );
    return [type, decode(objectSchemaOf(type), value, () => {})];
  });
  expect(told).toMatchObject([
    ['ADDED', { kind: 'Robot', apiVersion: 'v1', metadata: { name: 'b' } }],
    ['BOOKMARK', { kind: 'Robot', metadata: { resourceVersion: from.slice('resourceVersion='.length) } }],
    ['ERROR', { kind: 'Status', code: 504, reason: 'Timeout' }],
  ]);
});
const objectSchemaOf = (type: string): typeof statusSchema => (type === 'ERROR' ? statusSchema : kind.schema);

test.each([
  ['as JSON', undefined, 0x1],
  ['as tables', 'application/json;as=Table;v=v1;g=meta.k8s.io', 0x1],
  ['as protobuf', 'application/vnd.kubernetes.protobuf', 0x2],
])('over a WebSocket each event is a message, and the fault as well, %s', async (_, accept, opcode) => {
  const from = await make('a');
  await make('b', { large: 'x'.repeat(70_000) });
  await make('c');
  const client = await begin(`resourceVersion=${from}`, accept, true);
  const failed = await begin(
    'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000',
    accept,
    true,
  );
  await until(() => failed.ended);
  const payloads = messagesIn(Buffer.concat([...client.bytes, ...failed.bytes]), opcode);
  expect(payloads).toHaveLength(3);
  const said = payloads.map((payload) =>
    // Text ends with the line that it is in a stream, and a message needs no length before it.
    opcode === 0x1
      ? (JSON.parse(payload.toString()) as { type: string }).type
      : payload.subarray(2, 2 + (payload[1] as number)).toString(),
  );
  expect(said).toEqual(['ADDED', 'ADDED', 'ERROR']);
  client.leaving.abort();
});

test('over a WebSocket the message is written once for all', async () => {
  const from = await make('a');
  const clients = [
    await begin(`resourceVersion=${from}`, undefined, true),
    await begin(`resourceVersion=${from}`, undefined, true),
  ];
  // What comes first is taken by each from where it begins.
  await make('b');
  await until(() => clients.every(({ bytes }) => bytes.length === 1));
  await make('c');
  await until(() => clients.every(({ bytes }) => bytes.length === 2));
  expect(clients[0]?.bytes[1]).toBe(clients[1]?.bytes[1]);
});

/** What is in whole messages without a mask, all of one sort. */
function messagesIn(bytes: Buffer, opcode: number): Buffer[] {
  const payloads: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    expect(bytes[at]).toBe(0x80 | opcode);
    const short = bytes[at + 1] as number;
    const [headBytes, length] =
      short < 126
        ? [2, short]
        : short === 126
          ? [4, bytes.readUInt16BE(at + 2)]
          : [10, Number(bytes.readBigUInt64BE(at + 2))];
    payloads.push(bytes.subarray(at + headBytes, at + headBytes + length));
    at += headBytes + length;
  }
  return payloads;
}

test('what ends a watch that has begun is told inside', async () => {
  const client = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000');
  await until(() => client.ended);
  expect(client.events).toEqual(['ERROR 504']);
});

test('a fault of ours is told to the client inside and to the log', async () => {
  const client = await begin(`resourceVersion=${await make('a')}`);
  await memory.create('/registry/robots/n/bad', Buffer.from('{}'), {}, call);
  await until(() => client.ended);
  expect(client.events).toEqual(['ERROR 500']);
  expect(faults).toEqual([expect.objectContaining({ reason: 'InternalError' })]);
});

test('a client that reads slowly holds a bounded backlog, gets everything in order, and disturbs nobody', async () => {
  const from = await make('a');
  const [slow, quick] = [await begin(`resourceVersion=${from}`), await begin(`resourceVersion=${from}`)];
  slow.blocked = true;
  const large = 'x'.repeat(20_000);
  const expected: string[] = [];
  for (let n = 0; n < 60; n++) {
    await make(`r${n}`, { large });
    expected.push(`ADDED r${n}`);
    await settled();
  }
  await until(() => quick.lines.length === 60);
  expect(slow.backlogBytes).toBeLessThan(400_000);
  expect(slow.lines).toEqual([]);
  slow.blocked = false;
  slow.read();
  await until(() => slow.lines.length === 60);
  expect(slow.events).toEqual(expected);
});
