import { expect, test } from '@jest/globals';
import { frame, type FramePeer, framePeer } from '../../../test/frame-peer.ts';
import { greeting, okHeader, requestHeaders } from '../../../test/use-connections.ts';
import { flags, frameTypes, numberFrame, settingNumbers, settingsFrame } from './frames.ts';
import { Connection, type ConnectOptions } from './connection.ts';
import type { Stream } from './stream.ts';

const { headers, data } = frameTypes;

/** A connection to a peer that is moved by hand, which has greeted. */
function byHand(options: Partial<ConnectOptions> = {}, settings = greeting) {
  const peer = framePeer();
  const connection = new Connection('http://peer', undefined, peer.clock, { dial: peer.dial, ...options });
  peer.turn();
  peer.turn();
  peer.send(settings);
  peer.turn();
  peer.takeReceived();
  return { peer, connection };
}
const ofType = (peer: FramePeer, type: number) => peer.takeReceived().filter((one) => one.type === type);
/** The state of a call: pending, its response, or its end. */
function watched(connection: Connection, question: Buffer): { readonly kinds: string[]; readonly stream: Stream } {
  const kinds: string[] = [];
  const stream = connection.open(requestHeaders, {
    onHeaders: () => {},
    onData: () => {},
    onEnd: () => kinds.push('ended'),
    onLost: (kind, cause) => kinds.push(`${kind}: ${cause?.message}`),
  });
  stream.send([question], true);
  return { kinds, stream };
}
const answerTo = (stream: number): Buffer => frame(headers, flags.endHeaders | flags.endStream, stream, okHeader);
const small = Buffer.from('question');

test('after a smaller header table size one table size update is sent', () => {
  const { peer, connection } = byHand();
  const blocks = (): boolean[] => ofType(peer, headers).map(({ payload }) => payload[0] === 0x20);
  const askOne = (): void => {
    watched(connection, small);
    peer.turn();
  };
  askOne();
  peer.send(settingsFrame([[settingNumbers.headerTableSize, 8_192]]));
  askOne();
  peer.send(settingsFrame([[settingNumbers.headerTableSize, 100]]));
  askOne();
  peer.send(settingsFrame([[settingNumbers.headerTableSize, 0]]));
  askOne();
  expect(blocks()).toEqual([false, false, true, false]);
});

test.each([
  ['settings', settingsFrame([])],
  ['pings', frame(frameTypes.ping, 0, 0, Buffer.alloc(8))],
])('a peer may send any number of %s, unless it reads no answers', (_, request) => {
  const { peer } = byHand();
  const many = Array.from({ length: 15_000 }, () => request);
  peer.send(...many);
  peer.turn();
  expect([peer.takeReceived().length, peer.closed]).toEqual([15_000, false]);
  peer.stopReading();
  peer.send(...many);
  expect(peer.closed).toBe(true);
});

test.each([
  ['too large', 2 ** 31 - 1, 3, 'a window that is too large'],
  ['by nothing', 0, 1, 'a window increment of 0'],
])('a stream whose window grows %s is lost, and no other', (_, increment, code, why) => {
  const { peer, connection } = byHand();
  const [first, second] = [watched(connection, small), watched(connection, small)];
  peer.turn();
  peer.takeReceived();
  peer.send(numberFrame(frameTypes.windowUpdate, 1, increment));
  peer.turn();
  expect(first.kinds).toEqual([`lost: ${why}`]);
  expect(ofType(peer, frameTypes.resetStream).map(({ stream, payload }) => [stream, payload.readUInt32BE()])).toEqual([
    [1, code],
  ]);
  peer.send(answerTo(3));
  expect(second.kinds).toEqual(['ended']);
  expect(connection.isUsable).toBe(true);
});

test('large requests take turns, one frame each', () => {
  const { peer, connection } = byHand();
  for (let n = 0; n < 3; n++) watched(connection, Buffer.alloc(100_000));
  const order: number[] = [];
  for (let room = 65_535; order.length < 12; room = 32_768) {
    peer.turn();
    order.push(...ofType(peer, data).map(({ stream }) => stream));
    peer.send(numberFrame(frameTypes.windowUpdate, 0, room));
  }
  expect(order.slice(0, 12)).toEqual([1, 3, 5, 1, 3, 5, 1, 3, 5, 1, 3, 5]);
});

test('stream IDs are used up to the last, and later requests are unsent', () => {
  const { peer, connection } = byHand({ firstStreamId: 2 ** 31 - 3 });
  const asked = Array.from({ length: 4 }, () => watched(connection, small));
  peer.turn();
  expect(ofType(peer, headers).map(({ stream }) => stream)).toEqual([2 ** 31 - 3, 2 ** 31 - 1]);
  expect(connection.isUsable).toBe(false);
  expect(asked.map(({ kinds }) => kinds)).toEqual([
    [],
    [],
    ['unsent: the connection accepts no new streams'],
    ['unsent: the connection accepts no new streams'],
  ]);
  peer.send(answerTo(2 ** 31 - 1), answerTo(2 ** 31 - 3));
  expect(asked.slice(0, 2).map(({ kinds }) => kinds)).toEqual([['ended'], ['ended']]);
  for (let n = 0; n < 3; n++) peer.turn();
  expect(peer.closed).toBe(true);
});

test('GOAWAY during two large requests: the one it includes is finished, the other is unsent', () => {
  const { peer, connection } = byHand();
  const [first, second] = [watched(connection, Buffer.alloc(100_000)), watched(connection, Buffer.alloc(100_000))];
  peer.turn();
  peer.takeReceived();
  peer.send(frame(frameTypes.goAway, 0, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, 0])));
  expect(second.kinds).toEqual(['unsent: the peer sent GOAWAY']);
  let sentBytes = 0;
  for (let n = 0; n < 10; n++) {
    peer.send(
      numberFrame(frameTypes.windowUpdate, 0, 32_768),
      ...(first.kinds.length === 0 ? [numberFrame(frameTypes.windowUpdate, 1, 32_768)] : []),
    );
    peer.turn();
    const frames = ofType(peer, data);
    expect(frames.every(({ stream }) => stream === 1)).toBe(true);
    sentBytes += frames.reduce((sum, { payload }) => sum + payload.length, 0);
    if (frames.some((one) => (one.flags & flags.endStream) !== 0)) peer.send(answerTo(1));
  }
  expect(sentBytes).toBeGreaterThanOrEqual(100_000 - 65_535);
  expect(first.kinds).toEqual(['ended']);
  expect(peer.closed).toBe(true);
});

test('the code and the text of GOAWAY are in the errors of the streams that it ends, and of those that the end of the connection ends', () => {
  const { peer, connection } = byHand();
  const [first, second] = [watched(connection, Buffer.alloc(10)), watched(connection, Buffer.alloc(10))];
  peer.turn();
  const payload = Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 11]), Buffer.from('too_many_pings')]);
  peer.send(frame(frameTypes.goAway, 0, 0, payload));
  connection.destroy();
  const reason = 'the peer sent GOAWAY with code 11 and "too_many_pings"';
  expect([first.kinds, second.kinds]).toEqual([[`lost: ${reason}`], [`unsent: ${reason}`]]);
});

test('a ping acknowledgement that is unread after a stall of the event loop is in time', () => {
  const { peer, connection } = byHand();
  const pong = frame(frameTypes.ping, flags.ack, 0, Buffer.alloc(8));
  watched(connection, small);
  connection.checkAlive();
  peer.turn();
  peer.stall(3_000);
  peer.turn();
  peer.send(pong);
  peer.stall(1_000);
  peer.turn();
  expect(connection.isUsable).toBe(true);
});

test('a connection without a ping acknowledgement is closed, after a stall too', () => {
  for (const steps of [[1_000], [3_000, 1]]) {
    const { peer, connection } = byHand();
    const { kinds } = watched(connection, small);
    connection.checkAlive();
    peer.turn();
    for (const ms of steps) {
      expect(connection.isUsable).toBe(true);
      peer.stall(ms);
      peer.turn();
    }
    expect(kinds).toEqual(['lost: http://peer acknowledged no ping within 1000 ms']);
  }
});

test('with a longer election timeout a ping acknowledgement may take as long', () => {
  const { peer, connection } = byHand({ timeoutMs: 5_000 });
  const { kinds } = watched(connection, small);
  connection.checkAlive();
  peer.turn();
  peer.stall(4_999);
  peer.turn();
  expect(kinds).toEqual([]);
  peer.stall(1);
  peer.turn();
  expect(kinds).toEqual(['lost: http://peer acknowledged no ping within 5000 ms']);
});

test('a member that is repeatedly late is pinged no more often than etcd allows', () => {
  const { peer, connection } = byHand();
  watched(connection, small);
  peer.turn();
  const suspected = (): number => {
    connection.checkAlive();
    peer.turn();
    const pings = ofType(peer, frameTypes.ping).length;
    if (pings > 0) peer.send(frame(frameTypes.ping, flags.ack, 0, Buffer.alloc(8)));
    return pings;
  };
  const pings = Array.from({ length: 8 }, suspected);
  expect(pings).toEqual([1, 1, 1, 0, 0, 0, 0, 0]);
  // Data for a stream resets etcd's count of early pings.
  peer.send(frame(headers, flags.endHeaders, 1, okHeader));
  expect(Array.from({ length: 4 }, suspected)).toEqual([1, 1, 0, 0]);
});
