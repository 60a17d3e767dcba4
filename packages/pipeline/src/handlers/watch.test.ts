import { describe, expect, test } from '@jest/globals';
import { untilTurned as until } from '@cluster-apiserver/testkit/until';
import { call, type Client, useWatches, watchesPerUserMax } from '../../test/use-watches.ts';

const watches = useWatches();
const { begin, make, settle } = watches;

test('bookmarks are sent every minute and at the end, with the revision of the client', async () => {
  const first = await make('a');
  const client = await begin(`resourceVersion=${first}&allowWatchBookmarks=true&timeoutSeconds=150`);
  const second = await make('b');
  await until(() => client.lines.length === 1);
  watches.clock.advance(60_000);
  expect(client.events).toEqual(['ADDED b', `BOOKMARK ${second}`]);
  watches.clock.advance(90_000);
  expect(client.events.slice(2)).toEqual([`BOOKMARK ${second}`, `BOOKMARK ${second}`]);
  await until(() => client.ended);
});

/** Calls back while a watch is running, where an exception would end the process. */
const callbacks: readonly [string, (client: Client) => unknown][] = [
  ['an event', () => make('b')],
  ['the timer of its bookmarks', () => watches.clock.advance(60_000)],
  ['its end', () => watches.clock.advance(150_000)],
  ['a server that closes', (client) => client.closing.abort()],
];
test.each(callbacks)('an exception in the callback of %s cuts off only its watch', async (_, callBack) => {
  const first = await make('a');
  const query = `resourceVersion=${first}&allowWatchBookmarks=true&timeoutSeconds=150`;
  const [faulty, other] = [await begin(query), await begin(query)];
  await settle();
  const broken = new Error('broken');
  faulty.write = () => {
    throw broken;
  };
  await callBack(faulty);
  await until(() => faulty.ended);
  // The watch then sends an error event, which fails too.
  expect(faulty.cutBy).toBe(broken);
  await make('c');
  await until(() => other.events.includes('ADDED c') || other.ended);
  expect(other.cutBy).toBeUndefined();
});

test('sent events and bytes are counted', async () => {
  for (const name of ['a', 'b', 'c']) await make(name);
  const client = await begin('resourceVersion=0');
  await until(() => client.lines.length === 3);
  await make('d');
  await until(() => client.lines.length === 4);
  expect(watches.sent.reduce((sum, { events }) => sum + events, 0)).toBe(4);
  expect(watches.sent.map(({ bytes }) => bytes)).toEqual(client.bytes.map(({ length }) => length));
});

test('a watch without allowWatchBookmarks gets no bookmark at its end', async () => {
  const client = await begin(`resourceVersion=${await make('a')}&timeoutSeconds=150`);
  watches.clock.advance(150_000);
  await until(() => client.ended);
  expect(client.lines).toEqual([]);
});

test('a watch without timeoutSeconds ends after half an hour to an hour', async () => {
  const client = await begin(`resourceVersion=${await make('a')}`);
  watches.clock.advance(1_799_000);
  await settle();
  expect(client.ended).toBe(false);
  watches.clock.advance(1_801_000);
  await until(() => client.ended);
});

test('a draining server ends watches with a bookmark', async () => {
  const first = await make('a');
  const client = await begin(`resourceVersion=${first}&allowWatchBookmarks=true`);
  await settle();
  client.closing.abort();
  await until(() => client.ended);
  expect(client.events).toEqual([`BOOKMARK ${first}`]);
});

test('a client that disconnects ends its watch, and later events are not written', async () => {
  const client = await begin(`resourceVersion=${await make('a')}`);
  client.leaving.abort();
  await until(() => client.ended);
  await make('b');
  await settle();
  expect(client.lines).toEqual([]);
});

test('an error after the beginning of a watch is an ERROR event', async () => {
  const client = await begin('sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=100000');
  await until(() => client.ended);
  expect(client.events).toEqual(['ERROR 504']);
});

test('an internal error is an ERROR event for the client, and is reported', async () => {
  const client = await begin(`resourceVersion=${await make('a')}`);
  await watches.memory.create('/registry/robots/n/bad', Buffer.from('{}'), {}, call);
  await until(() => client.ended);
  expect(client.events).toEqual(['ERROR 500']);
  expect(watches.reportedErrors).toEqual([expect.objectContaining({ reason: 'StorageReadError' })]);
});

test.each([
  ['a negative one ends it at once', '-5', 0],
  ['one of a second', '1', 1_000],
  ['one of more than a day ends it after a day', '9007199254740991', 24 * 60 * 60 * 1000],
])('timeoutSeconds: %s', async (_, timeoutSeconds, lastsMs) => {
  const delays: number[] = [];
  const { after } = watches.clock;
  watches.clock.after = (delayMs, callback) => {
    delays.push(delayMs);
    return after(delayMs, callback);
  };
  const client = await begin(`resourceVersion=${await make('a')}&timeoutSeconds=${timeoutSeconds}`);
  if (lastsMs > 0) watches.clock.advance(lastsMs - 1);
  await settle();
  expect(client.ended).toBe(false);
  watches.clock.advance(1);
  await until(() => client.ended);
  // Node shortens longer timers to 1 ms, with a warning.
  for (const delayMs of delays) expect(delayMs).toBeGreaterThanOrEqual(0);
  for (const delayMs of delays) expect(delayMs).toBeLessThan(2 ** 31);
});

describe('the watches of one user', () => {
  test('are limited: one more is refused with 429 and Retry-After', async () => {
    const from = `resourceVersion=${await make('a')}`;
    const clients: Client[] = [];
    for (let n = 0; n < watchesPerUserMax; n++) clients.push(await begin(from));
    expect(watches.open).toBe(watchesPerUserMax);
    await expect(begin(from)).rejects.toMatchObject({ code: 429, retryAfterSeconds: 30 });
    expect(watches.open).toBe(watchesPerUserMax);

    await begin(from, { user: { name: 'another', groups: [] } });
    clients[0]?.leaving.abort();
    await until(() => clients[0]?.ended === true);
    await begin(from);
  });

  test('do not count when their clients left before they began', async () => {
    const from = `resourceVersion=${await make('a')}`;
    for (let n = 0; n <= watchesPerUserMax; n++) {
      const client = await begin(from, { hasLeft: true });
      await until(() => client.ended);
    }
    expect(watches.open).toBe(0);
  });

  test('are not limited for system:masters', async () => {
    const from = `resourceVersion=${await make('a')}`;
    const admin = { name: 'admin', groups: ['system:masters'] };
    for (let n = 0; n <= watchesPerUserMax; n++) await begin(from, { user: admin });
    expect(watches.open).toBe(watchesPerUserMax + 1);
  });
});
