import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, seededRandom, systemClock } from '@cluster-apiserver/base';
import { decode, type KubeObject, parseProtobuf, statusSchema, type UserInfo } from '@cluster-apiserver/model';
import { create, openRegistry, type Registry, type Resource } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/storage';
import { type ApiRequest, type Sink, StalledClientError } from '../exchange.ts';
import type { Authenticated } from '../facts.ts';
import { type HandClock, handClock } from '../../test/listener.ts';
import { requestInfo } from '../request-info.ts';
import { untilTurned as until } from '../../../base/test/until.ts';
import { robotKind } from '../../../registry/test/robot-kind.ts';
import { OpenWatches } from './open-watches.ts';
import { type Watched, watchHandler } from './watch.ts';

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
/** How many watches are counted as open, and what was said of those that nobody reads. */
let open: number;
let stalled: Watched[];
let stallReports: number[];
/** What was counted of each write into a stream. */
let sent: { readonly events: number; readonly bytes: number }[];
const watchesPerUserMax = 3;

beforeEach(() => {
  memory = memoryStore(systemClock);
  faults = [];
  open = 0;
  stalled = [];
  stallReports = [];
  sent = [];
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
    openWatches: new OpenWatches({
      clock,
      maxPerUser: watchesPerUserMax,
      reportStalled: (count) => stallReports.push(count),
    }),
    measures: {
      began: (watched) => {
        open += 1;
        return {
          sent: (events, bytes) => sent.push({ events, bytes }),
          stalled: () => stalled.push(watched),
          ended: () => (open -= 1),
        };
      },
    },
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
  /** What its stream was cut off with. */
  cutBy: unknown;

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

const nobodyElse: UserInfo = { name: 'tester', groups: [] };

async function begin(
  query: string,
  accept?: string,
  webSocket = false,
  user: UserInfo = nobodyElse,
  client = new Client(),
): Promise<Client> {
  const target = `/api/v1/namespaces/n/robots?watch=true&${query}`;
  const ends: (() => void)[] = [];
  const request = {
    webSocket,
    header: (name: string) => (name === 'accept' ? accept : undefined),
    onEnd: (listener: () => void) => ends.push(listener),
  };
  const facts = {
    info: requestInfo('GET', target),
    call,
    auditId: 'a',
    user,
    request: request as unknown as ApiRequest,
    warnings: new Set<string>(),
  } as unknown as Authenticated;
  const { body, status } = await watchRobots(facts);
  expect(status).toBe(webSocket ? 101 : 200);
  if (typeof body !== 'object' || !('stream' in body)) throw new Error('it is no stream');
  void body
    .stream(client)
    .catch((error: unknown) => (client.cutBy = error))
    .then(() => {
      client.ended = true;
      for (const end of ends) end();
    });
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

/** What calls a watch back in its middle, from where an exception would end the process. */
const callbacks: readonly [string, (client: Client) => unknown][] = [
  ['an event', () => make('b')],
  ['the timer of its bookmarks', () => clock.advance(60_000)],
  ['its end', () => clock.advance(150_000)],
  ['a server that closes', (client) => client.closing.abort()],
];
test.each(callbacks)('an exception in a watch that %s calls back cuts off this watch alone', async (_, callBack) => {
  const first = await make('a');
  const query = `resourceVersion=${first}&allowWatchBookmarks=true&timeoutSeconds=150`;
  const [faulty, other] = [await begin(query), await begin(query)];
  await settled();
  const broken = new Error('broken');
  faulty.write = () => {
    throw broken;
  };
  await callBack(faulty);
  await until(() => faulty.ended);
  // Within an event there is a last word to say, which fails as well.
  expect(faulty.cutBy).toBe(broken);
  await make('c');
  await until(() => other.events.includes('ADDED c') || other.ended);
  expect(other.cutBy).toBeUndefined();
});

test('what was sent is counted, with its bytes', async () => {
  for (const name of ['a', 'b', 'c']) await make(name);
  const client = await begin('resourceVersion=0');
  await until(() => client.lines.length === 3);
  await make('d');
  await until(() => client.lines.length === 4);
  expect(sent.reduce((sum, { events }) => sum + events, 0)).toBe(4);
  expect(sent.map(({ bytes }) => bytes)).toEqual(client.bytes.map(({ length }) => length));
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
  expect(faults).toEqual([expect.objectContaining({ reason: 'StorageReadError' })]);
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
  expect(slow.backlogBytes).toBeLessThan(80_000);
  expect(slow.lines).toEqual([]);
  slow.blocked = false;
  slow.read();
  await until(() => slow.lines.length === 60);
  expect(slow.events).toEqual(expected);
});

/** A client that takes nothing from the beginning. */
function unreading(): Client {
  const client = new Client();
  client.blocked = true;
  return client;
}

test('initial events wait where they are while the client reads nothing, and watchers share what is written', async () => {
  const large = 'x'.repeat(10_000);
  for (let n = 0; n < 30; n++) await make(`r${n}`, { large });
  const clients = [unreading(), unreading(), unreading()];
  for (const client of clients) await begin('', undefined, false, nobodyElse, client);
  for (const client of clients) expect(client.backlogBytes).toBeLessThan(80_000);
  for (const client of clients) {
    client.blocked = false;
    client.read();
  }
  for (const client of clients) await until(() => client.lines.length === 30);
  const [first, ...others] = clients.map(({ bytes }) => bytes);
  for (const other of others) for (const [at, piece] of other.entries()) expect(piece).toBe(first?.[at]);
});

describe('a client that stops reading', () => {
  const large = { large: 'x'.repeat(100_000) };

  test('is cut off after a minute, counted and reported once', async () => {
    await make('a', large);
    const client = await begin('', undefined, false, nobodyElse, unreading());
    const reader = await begin('');
    await until(() => reader.lines.length === 1);
    clock.advance(59_000);
    await settled();
    expect(client.ended).toBe(false);
    clock.advance(20_000);
    await until(() => client.ended);
    expect(client.cutBy).toBeInstanceOf(StalledClientError);
    expect(reader.ended).toBe(false);
    expect(stalled).toEqual([{ group: '', version: 'v1', resource: 'robots', scope: 'namespace' }]);
    expect(stallReports).toEqual([1]);
    expect(open).toBe(1);
    expect(faults).toEqual([]);
  });

  test('stays when it takes something now and then', async () => {
    const client = await begin(`resourceVersion=${await make('a')}`, undefined, false, nobodyElse, unreading());
    for (let n = 0; n < 4; n++) {
      await make(`b${n}`);
      await until(() => client.backlogBytes > 0);
      clock.advance(50_000);
      client.read();
    }
    expect(client.ended).toBe(false);
    expect(client.lines).toHaveLength(4);
  });

  test('is cut off when its watch is over, too', async () => {
    await make('a', large);
    const client = await begin('timeoutSeconds=5', undefined, false, nobodyElse, unreading());
    clock.advance(5_000);
    await settled();
    expect(client.ended).toBe(false);
    clock.advance(80_000);
    await until(() => client.ended);
    expect(client.cutBy).toBeInstanceOf(StalledClientError);
  });

  test('of a quiet watch is nothing to wait for', async () => {
    const client = await begin(`resourceVersion=${await make('a')}`, undefined, false, nobodyElse, unreading());
    clock.advance(600_000);
    await settled();
    expect(client.ended).toBe(false);
  });
});

test.each([
  ['a negative one ends it at once', '-5', 0],
  ['one of a second', '1', 1_000],
  ['one of more than a day ends it after a day', '9007199254740991', 24 * 60 * 60 * 1000],
])('timeoutSeconds: %s', async (_, timeoutSeconds, lastsMs) => {
  const delays: number[] = [];
  const { after } = clock;
  clock.after = (delayMs, callback) => {
    delays.push(delayMs);
    return after(delayMs, callback);
  };
  const client = await begin(`resourceVersion=${await make('a')}&timeoutSeconds=${timeoutSeconds}`);
  if (lastsMs > 0) clock.advance(lastsMs - 1);
  await settled();
  expect(client.ended).toBe(false);
  clock.advance(1);
  await until(() => client.ended);
  // Node's timers take others for 1 ms, and warn of it.
  for (const delayMs of delays) expect(delayMs).toBeGreaterThanOrEqual(0);
  for (const delayMs of delays) expect(delayMs).toBeLessThan(2 ** 31);
});

describe('the watches of one user', () => {
  test('are bounded: one more is refused with 429 and a time to try again', async () => {
    const from = `resourceVersion=${await make('a')}`;
    const clients: Client[] = [];
    for (let n = 0; n < watchesPerUserMax; n++) clients.push(await begin(from));
    expect(open).toBe(watchesPerUserMax);
    await expect(begin(from)).rejects.toMatchObject({ code: 429, retryAfterSeconds: 30 });
    expect(open).toBe(watchesPerUserMax);

    await begin(from, undefined, false, { name: 'another', groups: [] });
    clients[0]?.leaving.abort();
    await until(() => clients[0]?.ended === true);
    await begin(from);
  });

  test('are not, of members of system:masters', async () => {
    const from = `resourceVersion=${await make('a')}`;
    const admin = { name: 'admin', groups: ['system:masters'] };
    for (let n = 0; n <= watchesPerUserMax; n++) await begin(from, undefined, false, admin);
    expect(open).toBe(watchesPerUserMax + 1);
  });
});
