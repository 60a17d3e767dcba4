/**
 * Fuzzes one HTTP/2 connection in memory with seeded sequences of frames and calls. Most frames are valid, in any order.
 * The checks hold for every sequence: nothing is thrown, each call ends at most once and gets nothing afterwards, all calls
 * end with the connection, and sent frames respect the peer's windows, frame sizes and stream limits. A call is reported as
 * unsent only if the peer cannot have processed it: it was never sent, was refused, or is beyond the last stream of GOAWAY.
 * While the peer is valid, the connection stays open, and GOAWAY ends exactly the streams that it does not include.
 */
import { invariant, type Random } from '@cluster-apiserver/base';
import { Connection } from '../src/etcd/http2/connection.ts';
import type { Stream } from '../src/etcd/http2/stream.ts';
import {
  errorCodes,
  flags,
  frameBytesMax,
  frameTypes,
  initialWindowBytes,
  number31Max,
  numberFrame,
  settingNumbers,
  settingsFrame,
} from '../src/etcd/http2/frames.ts';
import { HeaderDecoder, encodeHeaderBlock } from '../src/etcd/http2/header-block.ts';
import { frame, type FramePeer, framePeer } from '../test/frame-peer.ts';

const stepsMax = 60;
/** Contains the number of the call, so that its stream ID can be found. */
const requestOf = (call: number): Buffer => encodeHeaderBlock([['call', String(call)]]);
const answer = encodeHeaderBlock([[':status', '200']]);

interface Call {
  readonly stream: Stream;
  readonly ends: string[];
  /** Whether there is nothing more to send. */
  isSaid: boolean;
  heardAfterEnd: boolean;
  cancelled: boolean;
}

const isOpen = ({ ends, cancelled }: Call): boolean => ends.length === 0 && !cancelled;

/** What the peer has allowed and received. */
class Judge {
  connectionWindow = initialWindowBytes;
  initialWindow = initialWindowBytes;
  frameBytes = frameBytesMax;
  readonly windows = new Map<number, number>();
  readonly closed = new Set<number>();
  /** The number of the stream of each call, as far as it has been seen. */
  readonly numbers = new Map<number, number>();
  readonly refused = new Set<number>();
  /** The lowest number that a GOAWAY has named as the last. */
  lastTaken = Number.POSITIVE_INFINITY;
  /** There was noise, which may have been a larger window, a refusal or a GOAWAY. */
  sawNoise = false;
  readonly #headers = new HeaderDecoder();
  #lastNumber = 0;

  read(peer: FramePeer): void {
    for (const { type, flags: flagged, stream, payload } of peer.takeReceived()) {
      invariant(payload.length <= this.frameBytes || this.sawNoise, `a frame of ${payload.length} bytes`);
      if (type === frameTypes.headers) {
        invariant(stream > this.#lastNumber && stream % 2 === 1, `stream ${stream} after ${this.#lastNumber}`);
        this.#lastNumber = stream;
        this.windows.set(stream, this.initialWindow);
        this.numbers.set(Number(this.#headers.decode(payload).get('call')), stream);
      }
      if (type === frameTypes.data) this.#data(stream, payload.length, (flagged & flags.endStream) !== 0);
      if (type === frameTypes.resetStream) this.closed.add(stream);
    }
  }

  #data(stream: number, bytes: number, isLast: boolean): void {
    const window = this.windows.get(stream);
    invariant(window !== undefined, `data of stream ${stream}, which was not opened`);
    invariant(!this.closed.has(stream), `data of stream ${stream}, which was closed`);
    const isRoom = bytes === 0 || (bytes <= window && bytes <= this.connectionWindow);
    invariant(isRoom || this.sawNoise, 'more data than there was room for');
    this.windows.set(stream, window - bytes);
    this.connectionWindow -= bytes;
    if (isLast) this.closed.add(stream);
  }

  /** Whether the other side may have looked at a call. One without a number may have left and not arrived yet. */
  mayHaveTaken(call: number): boolean {
    const number = this.numbers.get(call);
    if (number === undefined) return this.lastTaken === Number.POSITIVE_INFINITY;
    return number <= this.lastTaken && !this.refused.has(number);
  }

  reset(stream: number, code: number): Buffer {
    if (code === errorCodes.refusedStream) this.refused.add(stream);
    return numberFrame(frameTypes.resetStream, stream, code);
  }

  goAway(last: number, code: number): Buffer {
    this.lastTaken = Math.min(this.lastTaken, last);
    return frame(frameTypes.goAway, 0, 0, Buffer.concat([word(last), word(code)]));
  }

  grow(stream: number, increment: number): Buffer {
    if (stream === 0) this.connectionWindow += increment;
    else this.windows.set(stream, (this.windows.get(stream) ?? 0) + increment);
    return numberFrame(frameTypes.windowUpdate, stream, increment);
  }

  set(number: number, value: number): Buffer {
    if (number === settingNumbers.frameBytesMax) this.frameBytes = Math.max(frameBytesMax, value);
    if (number === settingNumbers.initialWindowSize) {
      for (const [stream, window] of this.windows) this.windows.set(stream, window + value - this.initialWindow);
      this.initialWindow = value;
    }
    return settingsFrame([[number, value]]);
  }
}

/** Throws what went wrong. */
export function runFrameSequence(random: Random, OwnConnection = Connection): void {
  const peer = framePeer();
  const among = <T>(all: readonly T[]): T => all[random.below(all.length)] as T;
  const isRare = (): boolean => random.below(20) === 0;
  const breaksRules = random.below(2) === 0;
  const isNearEnd = isRare();
  const connection: Connection = new OwnConnection('http://peer', undefined, peer.clock, {
    dial: peer.dial,
    firstStreamId: isNearEnd ? number31Max - 2 * random.below(10) : 1,
  });
  const judge = new Judge();
  const calls: Call[] = [];
  /** The connection may end: the peer has sent GOAWAY, or has not acknowledged a ping. */
  let mayEnd = isNearEnd;

  const turn = (): void => {
    peer.turn();
    judge.read(peer);
  };
  const send = (bytes: Buffer): void => {
    // In pieces, as TCP may cut it.
    const cut = random.below(3) === 0 ? random.below(bytes.length + 1) : bytes.length;
    for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) if (piece.length > 0) peer.send(piece);
  };
  const open = (): void => {
    if (!connection.isUsable) return;
    const ends: string[] = [];
    const hear = (): void => void (call.heardAfterEnd ||= ends.length > 0);
    const end = (how: string): void => void ends.push(how);
    const stream = connection.open(requestOf(calls.length), {
      onHeaders: hear,
      onData: hear,
      onEnd: () => end('ended'),
      onLost: (kind) => end(kind),
    });
    const call: Call = { stream, ends, isSaid: random.below(4) > 0, heardAfterEnd: false, cancelled: false };
    calls.push(call);
    stream.send([Buffer.alloc(among([0, 10, 20_000, 200_000]))], call.isSaid);
  };
  const withCall = (work: (call: Call) => void): void => {
    if (calls.length > 0) work(among(calls));
  };
  const anyNumber = (): number => among([...judge.windows.keys(), 0]);
  const openNumber = (): number => among([...judge.windows.keys()]);

  const ours: readonly (() => void)[] = [
    open,
    open,
    turn,
    turn,
    () =>
      withCall((call) => {
        call.cancelled ||= call.ends.length === 0;
        call.stream.cancel();
      }),
    () => withCall(({ stream }) => stream.pause()),
    () => withCall(({ stream }) => stream.resume()),
    () =>
      withCall((call) => {
        if (call.isSaid) return;
        call.isSaid = true;
        call.stream.send([Buffer.alloc(100)], true);
      }),
    () => {
      connection.checkAlive();
      peer.stall(among([10, 1_000, 6_000]));
      mayEnd = true;
    },
  ];
  const allowed: readonly (() => Buffer)[] = [
    () => judge.grow(0, 1 + random.below(50_000)),
    () => judge.grow(openNumber(), 1 + random.below(50_000)),
    () => judge.set(settingNumbers.initialWindowSize, among([0, 1, 100, initialWindowBytes, 1_000_000])),
    () => judge.set(settingNumbers.frameBytesMax, among([frameBytesMax, 100_000, 2 ** 24 - 1])),
    () => judge.set(settingNumbers.concurrentStreamsMax, random.below(5)),
    () => judge.set(settingNumbers.headerTableSize, among([0, 100, 4_096, 1_000_000])),
    () => settingsFrame([]),
    () => frame(frameTypes.settings, flags.ack, 0),
    () => frame(frameTypes.ping, among([0, flags.ack]), 0, Buffer.alloc(8)),
    () => frame(100 + random.below(100), random.below(256), random.below(10), Buffer.alloc(random.below(50))),
    () => frame(frameTypes.headers, flags.endHeaders | among([0, flags.endStream]), openNumber(), answer),
    () => {
      const stream = openNumber();
      const begin = frame(frameTypes.headers, among([0, flags.endStream]), stream);
      return Buffer.concat([begin, frame(frameTypes.continuation, flags.endHeaders, stream, answer)]);
    },
    () => frame(frameTypes.data, among([0, flags.endStream]), openNumber(), Buffer.alloc(random.below(1_000))),
    () => frame(frameTypes.data, flags.padded, openNumber(), Buffer.concat([Buffer.from([5]), Buffer.alloc(20)])),
    () => judge.reset(openNumber(), random.below(14)),
  ];
  const goAway = (): void => {
    mayEnd = true;
    const before = calls.filter(isOpen);
    send(judge.goAway(anyNumber(), random.below(14)));
    if (isBroken) return;
    for (const call of before) {
      const isTaken = judge.mayHaveTaken(calls.indexOf(call));
      invariant(isOpen(call) === isTaken, `a call that ${isTaken ? 'is' : 'is not'} finished: ${call.ends.join()}`);
      invariant(isTaken || call.ends[0] === 'unsent', `a call that was not looked at: ${call.ends.join()}`);
    }
  };
  const forbidden: readonly (() => Buffer)[] = [
    () => judge.grow(anyNumber(), among([0, number31Max])),
    () => judge.set(settingNumbers.initialWindowSize, among([number31Max, 2 ** 32 - 1])),
    () => frame(frameTypes.pushPromise, 0, openNumber(), Buffer.alloc(4)),
    () => frame(frameTypes.data, 0, random.below(20), Buffer.alloc(random.below(10))),
    () => frame(frameTypes.headers, random.below(256), random.below(20), bytesOf(random, 30)),
    () => frame(frameTypes.continuation, random.below(256), random.below(20), bytesOf(random, 30)),
    () => {
      judge.sawNoise = true;
      return frame(random.below(10), random.below(256), random.below(20), bytesOf(random, 30));
    },
    () => {
      judge.sawNoise = true;
      return bytesOf(random, 30);
    },
  ];

  let isBroken = false;
  turn();
  turn();
  send(settingsFrame([]));
  for (let steps = random.below(stepsMax); steps > 0; steps--) {
    const from = random.below(10);
    if (from < 4 || judge.windows.size === 0) among(ours)();
    else if (breaksRules && isRare()) {
      isBroken = true;
      send(among(forbidden)());
    } else if (isRare()) goAway();
    else send(among(allowed)());
  }
  turn();
  if (!isBroken && !mayEnd) invariant(connection.isUsable, 'a connection was given up for no reason');
  for (let n = 0; n < 3; n++) turn();
  const isLeft = judge.lastTaken < Number.POSITIVE_INFINITY && !calls.some(isOpen);
  invariant(isBroken || !isLeft || peer.closed, 'a connection that is left and has no calls is kept');
  connection.destroy();
  for (let n = 0; n < 3; n++) turn();
  for (const [at, { stream, ends, heardAfterEnd, cancelled }] of calls.entries()) {
    const [end] = ends;
    invariant(end !== 'lost' || stream.isSent, 'a call that never left is lost');
    invariant(end !== 'ended' || stream.isSent, 'a call that never left has an answer');
    const mayBeRepeated = !stream.isSent || !judge.mayHaveTaken(at) || judge.sawNoise;
    invariant(end !== 'unsent' || mayBeRepeated, 'a call that may have been processed is reported as not sent');
    invariant(ends.length === (cancelled ? 0 : 1), `a call ended ${ends.length} times: ${ends.join(', ')}`);
    invariant(!heardAfterEnd, 'a call heard something after its end');
  }
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const bytesOf = (random: Random, countMax: number): Buffer => random.bytes(1 + random.below(countMax));
