import { describe, expect, test } from '@jest/globals';
import { StalledClientError } from '../exchange.ts';
import { untilTurned as until } from '@cluster-apiserver/testkit/until';
import { unreading, useWatches } from '../../test/use-watches.ts';

const watches = useWatches();
const { begin, make, settle } = watches;

test('a slow client has a bounded backlog, gets all events in order, and does not slow others', async () => {
  const from = await make('a');
  const [slow, quick] = [await begin(`resourceVersion=${from}`), await begin(`resourceVersion=${from}`)];
  slow.blocked = true;
  const large = 'x'.repeat(20_000);
  const expected: string[] = [];
  for (let n = 0; n < 60; n++) {
    await make(`r${n}`, { large });
    expected.push(`ADDED r${n}`);
    await settle();
  }
  await until(() => quick.lines.length === 60);
  expect(slow.backlogBytes).toBeLessThan(80_000);
  expect(slow.lines).toEqual([]);
  slow.blocked = false;
  slow.read();
  await until(() => slow.lines.length === 60);
  expect(slow.events).toEqual(expected);
});

test('initial events are not encoded while the client does not read, and watchers share the encoding', async () => {
  const large = 'x'.repeat(10_000);
  for (let n = 0; n < 30; n++) await make(`r${n}`, { large });
  const clients = [unreading(), unreading(), unreading()];
  for (const client of clients) await begin('', { client });
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
    const client = await begin('', { client: unreading() });
    const reader = await begin('');
    await until(() => reader.lines.length === 1);
    watches.clock.advance(59_000);
    await settle();
    expect(client.ended).toBe(false);
    watches.clock.advance(20_000);
    await until(() => client.ended);
    expect(client.cutBy).toBeInstanceOf(StalledClientError);
    expect(reader.ended).toBe(false);
    expect(watches.stalled).toEqual([{ group: '', version: 'v1', resource: 'robots', scope: 'namespace' }]);
    expect(watches.stallReports).toEqual([1]);
    expect(watches.open).toBe(1);
    expect(watches.reportedErrors).toEqual([]);
  });

  test('is kept while it reads now and then', async () => {
    const client = await begin(`resourceVersion=${await make('a')}`, { client: unreading() });
    for (let n = 0; n < 4; n++) {
      await make(`b${n}`);
      await until(() => client.backlogBytes > 0);
      watches.clock.advance(50_000);
      client.read();
    }
    expect(client.ended).toBe(false);
    expect(client.lines).toHaveLength(4);
  });

  test('is also cut off after the end of its watch', async () => {
    await make('a', large);
    const client = await begin('timeoutSeconds=5', { client: unreading() });
    await until(() => client.backlogBytes > 0);
    watches.clock.advance(5_000);
    await settle();
    expect(client.ended).toBe(false);
    watches.clock.advance(80_000);
    await until(() => client.ended);
    expect(client.cutBy).toBeInstanceOf(StalledClientError);
  });

  test('of an idle watch is not cut off', async () => {
    const client = await begin(`resourceVersion=${await make('a')}`, { client: unreading() });
    watches.clock.advance(600_000);
    await settle();
    expect(client.ended).toBe(false);
  });
});
