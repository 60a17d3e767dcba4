import { expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { unreading, useWatches } from '../../test/use-watches.ts';
import { OpenWatches } from './open-watches.ts';

const megabyte = 1024 * 1024;
const user = { name: 'u', groups: [] };
const openWatches = (): OpenWatches => new OpenWatches({ clock: fakeClock(), maxPerUser: 0, reportStalled: () => {} });

test('a user whose clients have not read much gets no more watches until they have', () => {
  const open = openWatches();
  const [slow, other] = [open.acquire(user, megabyte), open.acquire(user, megabyte)];
  slow.countUnread(30 * megabyte);
  other.countUnread(33 * megabyte);
  expect(() => open.acquire(user, 1)).toThrow(
    expect.objectContaining({ code: 429, message: expect.stringContaining('unread events take 68157440 bytes') }),
  );
  open.acquire({ ...user, name: 'another' }, megabyte);
  open.acquire({ ...user, groups: ['system:masters'] }, 0);
  other.countUnread(0);
  open.acquire(user, 30 * megabyte);
  slow.release();
  // The stream of a client that has left reports once more.
  slow.countUnread(60 * megabyte);
  open.acquire(user, 30 * megabyte);
});

test('long selectors of all users are limited together, and short ones are not', () => {
  const open = openWatches();
  const users = Array.from({ length: 4 }, (_, at) => ({ ...user, name: `u${at}` }));
  const held = users.slice(0, 2).map((one) => open.acquire(one, 63 * megabyte));
  const [, , third = user, fourth = user] = users;
  expect(() => open.acquire(third, 3 * megabyte)).toThrow(
    expect.objectContaining({ code: 429, message: expect.stringContaining('of all users with long selectors') }),
  );
  open.acquire(third, 16_384).release();
  open.acquire({ ...fourth, groups: ['system:masters'] }, 3 * megabyte).release();
  held[0]?.release();
  open.acquire(third, 3 * megabyte);
});

test.each([
  [2, 5],
  [10_000, 5_000],
])('while the server drains, %i watches end in turn, the first at once', (count, withinMs) => {
  const clock = fakeClock();
  const open = new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} });
  for (let at = 0; at < count; at++) open.track({ writtenBytes: 0, backlogBytes: 0, cutOff: () => {} });
  let ended = 0;
  const [, left] = Array.from({ length: count }, () => open.endInTurn(() => ended++));
  expect(ended).toBe(1);
  // Its client has gone.
  left?.();
  clock.advance(withinMs / 2);
  expect(ended).toBeLessThanOrEqual(Math.ceil(count / 2));
  clock.advance(withinMs / 2);
  expect(ended).toBe(count - 1);
});

const watches = useWatches();

test('what a client has not read is counted until it has', async () => {
  const { acquire } = OpenWatches.prototype;
  const counted: number[] = [];
  OpenWatches.prototype.acquire = function (...args) {
    const watch = acquire.apply(this, args);
    return { ...watch, countUnread: (bytes) => (counted.push(bytes), watch.countUnread(bytes)) };
  };
  try {
    const client = await watches.begin(`resourceVersion=${await watches.make('a')}`, { client: unreading() });
    await watches.make('b', { note: 'x'.repeat(40_000) });
    await untilTurned(() => counted.length === 1);
    expect(counted[0]).toBeGreaterThan(40_000);
    client.read();
    await untilTurned(() => counted.length === 2);
    expect(counted[1]).toBe(0);
  } finally {
    OpenWatches.prototype.acquire = acquire;
  }
});
