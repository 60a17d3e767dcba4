import { expect, test } from '@jest/globals';
import { Batch, Bookmark, type WatchReader } from '@cluster-apiserver/registry';
import { revision } from '@cluster-apiserver/storage';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned as until } from '@cluster-apiserver/testkit/until';
import { Client } from '../../test/use-watches.ts';
import type { Frames } from '../encoding/watch-frames.ts';
import type { WatchEnd } from '../watch-end.ts';
import { EventStream } from './event-stream.ts';
import { OpenWatches } from './open-watches.ts';

const batchOf = (at: number): Batch => new Batch([new Bookmark(revision(at), false)], revision(at));

/** Other events of the revision follow. */
const insideOf = (at: number): Batch => new Batch([new Bookmark(revision(at), false)], revision(at - 1));

/** A stream of batches. The first takes several turns to encode. */
function streamOf(batches = [batchOf(10), batchOf(20)]) {
  const clock: FakeClock = fakeClock();
  const client = new Client();
  const encoding = Promise.withResolvers<Buffer>();
  const context: { watchEnd?: WatchEnd } = {};
  const reported: unknown[] = [];
  const taken: Batch[] = [];
  const reader: WatchReader = {
    take: () => {
      const batch = batches.shift();
      if (batch) taken.push(batch);
      return batch;
    },
    wait: () => {},
    end: undefined,
    reached: revision(30),
    close: () => {},
  };
  const frames: Frames = {
    contentType: 'text/plain',
    first: () => encoding.promise,
    later: ([event]) => Buffer.from(`${event?.revision}\n`),
    error: ({ code }) => Buffer.from(`ERROR ${code}\n`),
  };
  const ended = new EventStream(reader, client, frames, {
    clock,
    durationMs: 90_000,
    bookmarks: true,
    openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
    counted: { countUnread: () => {} },
    measures: { countSent: () => {}, countStalled: () => {}, end: () => {} },
    context,
    reportInternalError: (error) => reported.push(error),
    onInitialEventsSent: undefined,
  }).run();
  return { clock, client, encoding, context, reported, taken, ended };
}

test('while a batch is being encoded, nothing is taken and no bookmark is sent', async () => {
  const { clock, client, encoding, taken, ended } = streamOf();
  clock.advance(60_000);
  expect(taken).toHaveLength(1);
  expect(client.lines).toEqual([]);
  encoding.resolve(Buffer.from('large\n'));
  await until(() => client.lines.length === 2);
  expect(client.lines).toEqual(['large', '20']);
  clock.advance(30_000);
  await ended;
  expect(client.lines.slice(2)).toEqual(['30']);
});

test('a batch that is encoded after the end is not sent', async () => {
  const { clock, client, encoding, context, taken, ended } = streamOf();
  clock.advance(90_000);
  encoding.resolve(Buffer.from('large\n'));
  await ended;
  await new Promise(setImmediate);
  expect(client.lines).toEqual([]);
  expect(taken).toHaveLength(1);
  expect(context.watchEnd).toBe('timeout');
});

test.each([
  ['during the watch', false, ['ERROR 500'], 'error'],
  ['after its end', true, [], 'timeout'],
])('a batch that cannot be encoded ends the watch with an error, %s', async (_, isOver, lines, end) => {
  const { clock, client, encoding, context, reported, ended } = streamOf();
  const broken = new Error('broken');
  if (isOver) clock.advance(90_000);
  encoding.reject(broken);
  await ended;
  await new Promise(setImmediate);
  expect(client.lines).toEqual(lines);
  expect(context.watchEnd).toBe(end);
  expect(reported).toEqual(isOver ? [] : [broken]);
});

test.each([
  ['at once', [batchOf(10), batchOf(20)], []],
  ['after the rest of the revision', [insideOf(20), insideOf(20), batchOf(20), batchOf(21)], ['20', '20']],
])('a watch of a replica that drains ends %s', async (_, batches, lines) => {
  const { client, encoding, context, taken, ended } = streamOf(batches);
  client.blocked = true;
  encoding.resolve(Buffer.alloc(40_000));
  await until(() => client.backlogBytes > 0);
  client.closing.abort();
  expect(taken).toHaveLength(1);
  client.blocked = false;
  client.read();
  await ended;
  expect(context.watchEnd).toBe('draining');
  expect(client.lines).toEqual(lines);
});
