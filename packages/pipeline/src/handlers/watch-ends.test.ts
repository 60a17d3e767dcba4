import { connect } from 'node:http2';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { badRequest, StatusError } from '@cluster-apiserver/model';
import type { WatchReader } from '@cluster-apiserver/registry';
import { callUntil } from '@cluster-apiserver/base';
import { untilTurned as until } from '@cluster-apiserver/testkit/until';
import { robotKind } from '../../../registry/test/robot-kind.ts';
import { get, type Served, serve } from '../../test/listener.ts';
import { type OpenPipeline, openPipeline } from '../../test/open-pipeline.ts';
import { Client, useWatches } from '../../test/use-watches.ts';
import type { Frames } from '../encoding/watch-frames.ts';
import type { EndedRequest } from '../stages/log-requests.ts';
import type { WatchEnd } from '../watch-end.ts';
import { EventStream } from './event-stream.ts';
import { OpenWatches } from './open-watches.ts';

/** Opens a watch, and returns how its client leaves. */
type Open = (served: Served, target: string) => Promise<() => void>;

const upgrade = [
  'Origin: https://a',
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
];
const openByHttp1 =
  (...headers: string[]): Open =>
  async (served, target) => {
    const client = await served.raw();
    // The server closes a WebSocket when its client has, or after a while.
    client.socket.on('end', () => client.socket.end());
    client.send(get(target, ...headers));
    await client.until(/\r\n\r\n/);
    return () => client.socket.destroy();
  };
const protocols: Readonly<Record<string, Open>> = {
  'HTTP/1.1': openByHttp1(),
  WebSocket: openByHttp1(...upgrade),
  'HTTP/2': async ({ listener }, target) => {
    const session = connect(`https://127.0.0.1:${listener.port}`, { rejectUnauthorized: false });
    session.on('error', () => {});
    const stream = session.request({ ':path': target });
    stream.on('error', () => {}).resume();
    stream.on('close', () => session.close());
    await new Promise((resolve) => stream.once('response', resolve));
    return () => session.destroy();
  },
};

describe.each(Object.entries(protocols))('over %s the reason is logged and counted when', (_, open) => {
  let clock: FakeClock;
  let pipeline: OpenPipeline;
  let served: Served;
  let logged: EndedRequest[];
  let counted: (WatchEnd | undefined)[];

  beforeEach(async () => {
    clock = fakeClock();
    const log: EndedRequest[] = (logged = []);
    const ends: (WatchEnd | undefined)[] = (counted = []);
    pipeline = await openPipeline({
      kinds: [robotKind],
      clock,
      chain: { allowedOrigin: () => true, requestLog: { logsAll: true, ended: (request) => log.push(request) } },
      watchMeasures: { begin: () => ({ countSent: () => {}, countStalled: () => {}, end: (why) => ends.push(why) }) },
    });
    served = await serve(pipeline.handle, clock);
  });
  afterEach(async () => {
    await served.close();
    await pipeline.close();
  });

  test.each<[string, WatchEnd, (leave: () => void) => unknown]>([
    ['its time is over', 'timeout', () => clock.advance(5_000)],
    ['the replica drains', 'draining', () => void served.listener.drain(60_000)],
    ['its client leaves', 'client', (leave) => leave()],
    [
      'an object cannot be read',
      'error',
      () => pipeline.store.create('/registry/robots/n/bad', Buffer.from('{}'), {}, callUntil(Number.POSITIVE_INFINITY)),
    ],
  ])('%s', async (_name, end, act) => {
    const leave = await open(served, '/api/v1/robots?watch=true&resourceVersion=1&timeoutSeconds=5');
    expect(counted).toEqual([]);
    await act(leave);
    await until(() => logged.length === 1);
    expect(logged[0]?.context.watchEnd).toBe(end);
    expect(counted).toEqual([end]);
  });
});

describe('the reason is', () => {
  const watches = useWatches();

  test('the first one, if a client leaves before it has read the end', async () => {
    const client = await watches.begin(`resourceVersion=${await watches.make('a')}&timeoutSeconds=5`);
    watches.clock.advance(5_000);
    client.leaving.abort();
    await until(() => watches.ends.length === 1);
    expect(watches.ends).toEqual(['timeout']);
  });

  test('an error, if an exception cuts the stream off', async () => {
    const client = await watches.begin(`resourceVersion=${await watches.make('a')}&allowWatchBookmarks=true`);
    client.write = () => {
      throw new Error('broken');
    };
    // The stream may not wait for its first bookmark yet.
    await until(() => {
      if (watches.ends.length === 0) watches.clock.advance(60_000);
      return watches.ends.length === 1;
    });
    expect(watches.ends).toEqual(['error']);
  });

  test('absent, if the watch never begin', async () => {
    await expect(watches.begin('timeoutSeconds=x')).rejects.toThrow();
    await expect(watches.begin('resourceVersionMatch=Exact')).rejects.toThrow();
    expect(watches.ends.filter(Boolean)).toEqual([]);
  });
});

/** A reader that has ended. */
const ended = (end: WatchReader['end'], take: WatchReader['take'] = () => undefined): WatchReader => ({
  take,
  wait: () => {},
  end,
  reached: undefined,
  close: () => {},
});
const failing = (error: unknown): WatchReader =>
  ended(undefined, () => {
    throw error;
  });

test.each<[string, WatchReader, WatchEnd]>([
  ['a reader that fell behind', ended('behind'), 'behind'],
  ['a reader that lost its snapshot', ended('snapshot'), 'snapshot'],
  ['410', failing(new StatusError('Expired', 'too old resource version: 1')), 'expired'],
  ['another status', failing(badRequest('no')), 'error'],
  ['an internal error', failing(new Error('broken')), 'error'],
])('the stream of %s ends with its reason', async (_, reader, end) => {
  const clock = fakeClock();
  const context: { watchEnd?: WatchEnd } = {};
  const frames: Partial<Frames> = { error: () => Buffer.from('error') };
  await new EventStream(reader, new Client(), frames as Frames, {
    clock,
    durationMs: 60_000,
    bookmarks: false,
    openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
    counted: { countUnread: () => {} },
    measures: { countSent: () => {}, countStalled: () => {}, end: () => {} },
    context,
    reportInternalError: () => {},
    onInitialEventsSent: undefined,
  }).run();
  expect(context.watchEnd).toBe(end);
});
