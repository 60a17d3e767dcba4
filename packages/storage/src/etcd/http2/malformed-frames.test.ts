import { createServer, type Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { array, assert, asyncProperty, nat, tuple, uint8Array } from 'fast-check';
import { until } from '@cluster-apiserver/testkit/until';
import { frame } from '../../../test/frame-peer.ts';
import { ask, fateOf, greeting, okHeader, requestHeaders, useConnections } from '../../../test/use-connections.ts';
import type { Connection } from './connection.ts';
import { flags, frameHead, frameTypes, numberFrame, preface, settingNumbers, settingsFrame } from './frames.ts';
import { encodeHeaderBlock } from './header-block.ts';

const connections = useConnections();

/** A peer that sends invalid bytes as soon as it has received a request. */
async function rogue(...sayings: readonly Buffer[]): Promise<{ connection: Connection; open: ReadonlySet<Socket> }> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    socket.once('data', () => {
      for (const saying of sayings) socket.write(saying);
    });
  });
  connections.closeLater(() => {
    for (const socket of open) socket.destroy();
  });
  return { connection: await connections.connectTo(server), open };
}

const { headers, data, continuation } = frameTypes;

test.each<{ what: string; says: Buffer[]; fault: string }>([
  { what: 'no frames at all', says: [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], fault: 'limit is 16384' },
  { what: 'its own preface', says: [preface], fault: 'limit is 16384' },
  {
    what: 'something before its settings',
    says: [frame(frameTypes.ping, 0, 0, Buffer.alloc(8))],
    fault: 'is not SETTINGS',
  },
  { what: 'a frame that is too long', says: [greeting, frameHead(data, 0, 1, 16_385)], fault: '16385 bytes' },
  { what: 'broken settings', says: [frame(frameTypes.settings, 0, 0, Buffer.alloc(5))], fault: 'broken settings' },
  {
    what: 'a window that is too large',
    says: [settingsFrame([[settingNumbers.initialWindowSize, 2 ** 31]])],
    fault: 'a window of',
  },
  ...[2 ** 14 - 1, 2 ** 24].map((bytes) => ({
    what: `a limit of frames of ${bytes} bytes`,
    says: [settingsFrame([[settingNumbers.frameBytesMax, bytes]])],
    fault: `frames of at most ${bytes} bytes`,
  })),
  {
    what: 'windows that add up too large',
    says: [greeting, numberFrame(frameTypes.windowUpdate, 0, 2 ** 31 - 1)],
    fault: 'too large',
  },
  { what: 'data for a stream of its own', says: [greeting, frame(data, 0, 2)], fault: 'stream 2 was never opened' },
  { what: 'data for no stream', says: [greeting, frame(data, 0, 0)], fault: 'stream 0 was never opened' },
  { what: 'headers of a stream to come', says: [greeting, frame(headers, 4, 3, okHeader)], fault: 'stream 3' },
  { what: 'a push', says: [greeting, frame(frameTypes.pushPromise, 4, 1, Buffer.alloc(4))], fault: 'pushes' },
  {
    what: 'padding longer than its frame',
    says: [greeting, frame(data, flags.padded, 1, Buffer.from([9, 1]))],
    fault: 'more padding',
  },
  { what: 'padding without a length', says: [greeting, frame(data, flags.padded, 1)], fault: 'more padding' },
  { what: 'a reset without a code', says: [greeting, frame(frameTypes.resetStream, 0, 1)], fault: 'too short' },
  { what: 'a goodbye without content', says: [greeting, frame(frameTypes.goAway, 0, 0)], fault: 'too short' },
  {
    what: 'the rest of a header',
    says: [greeting, frame(continuation, 4, 1, okHeader)],
    fault: 'without a header block',
  },
  {
    what: 'something amid a header',
    says: [greeting, frame(headers, 0, 1, okHeader), frame(data, 0, 1)],
    fault: 'without its continuation',
  },
  {
    what: 'a header without end',
    says: [greeting, frame(headers, 0, 1), ...Array.from({ length: 8_000 }, () => frame(continuation, 0, 1))],
    fault: 'more than 65536 bytes',
  },
  {
    what: 'a header with a field that there is not',
    says: [greeting, frame(headers, 4, 1, Buffer.from([0xff, 0x05]))],
    fault: 'refers to field 132',
  },
  {
    what: 'more than there is room for',
    says: [
      greeting,
      frame(headers, 4, 1, okHeader),
      // Everything is taken at once, so that only a stream that is paused runs out of room; see the listener.
      ...Array.from({ length: 200 }, () => frame(data, 0, 1, Buffer.alloc(16_384))),
    ],
    fault: 'more than its window',
  },
])('a member that sends $what is disconnected, and the error says why', async ({ says, fault }) => {
  const { connection, open } = await rogue(...says);
  const { promise, resolve } = Promise.withResolvers<[string, Error | undefined]>();
  const stream = connection.open(requestHeaders, {
    onHeaders: () => stream.pause(),
    onData: () => {},
    onEnd: () => resolve(['ended', undefined]),
    onLost: (kind, cause) => resolve([kind, cause]),
  });
  stream.send([Buffer.from('question')], true);
  const [kind, cause] = await promise;
  expect([kind, cause?.message]).toEqual(['lost', expect.stringContaining(fault)]);
  expect(connection.isUsable).toBe(false);
  await until('the connection to be closed', () => open.size === 0 || undefined);
});

test('unknown frames are ignored', async () => {
  const { connection } = await rogue(
    greeting,
    frame(77, 255, 9, Buffer.from('a frame of tomorrow')),
    settingsFrame([[4_711, 1]]),
    frame(headers, flags.endHeaders | flags.padded | flags.priority, 1, Buffer.from([2, 0, 0, 0, 0, 0, 0x88, 0, 0])),
    frame(data, flags.padded, 1, Buffer.from([1, 0x61, 0])),
    frame(data, 0, 1),
    frame(headers, flags.endHeaders | flags.endStream, 1, encodeHeaderBlock([['grpc-status', '0']])),
    frame(data, 0, 1, Buffer.from('of a stream that is over')),
  );
  const asked = ask(connection, Buffer.from('question'));
  expect(String(await asked.body)).toBe('a');
  expect(asked.headers.map((headers) => Object.fromEntries(headers))).toEqual([
    { ':status': '200' },
    { 'grpc-status': '0' },
  ]);
  expect(connection.isUsable).toBe(true);
});

test('random bytes end the connection or leave it waiting, and nothing is thrown', async () => {
  const anyFrame = tuple(nat(10), nat(255), nat(2), uint8Array({ maxLength: 39 }));
  await assert(
    asyncProperty(array(anyFrame, { maxLength: 30, size: 'max' }), async (noise) => {
      const { connection } = await rogue(
        greeting,
        ...noise.map(([type, flags, stream, payload]) => frame(type, flags, stream, Buffer.from(payload))),
        frame(frameTypes.goAway, 0, 0, Buffer.alloc(8)),
        Buffer.alloc(9, 0xff),
      );
      await fateOf(ask(connection, Buffer.from('question')));
      connection.destroy();
    }),
    { numRuns: 60, seed: 3 },
  );
});
