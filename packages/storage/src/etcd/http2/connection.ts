/**
 * One HTTP/2 connection to one member, as much of the protocol as a client of gRPC needs. What is sent in one turn of the
 * event loop leaves in one piece. It answers for its own end: a connection that does not come about, breaks the
 * protocol, or no longer answers a ping, is torn down, so that whoever waits on it learns so and goes elsewhere.
 */
import type { Socket } from 'node:net';
import type { Clock } from '@cluster-apiserver/base';
import { totalLength, type Pieces } from '../../pieces.ts';
import { setStallAwareTimer } from '../stall-aware-timer.ts';
import { type Dial, dial, type TlsCredentials } from './dial.ts';
import {
  errorCodes,
  flags,
  frameHead,
  frameTypes,
  createFrameReader,
  Http2ProtocolError,
  headBytes,
  initialWindowBytes,
  number31Max,
  numberFrame,
  frameBytesMax as ourFrameBytesMax,
  preface,
  settingNumbers,
  settingsFrame,
} from './frames.ts';
import { CoalescingWriter } from './coalescing-writer.ts';
import { Keepalive } from './keepalive.ts';
import { clearTableUpdate, HeaderDecoder, tableBytesMax } from './header-block.ts';

/** What comes of a stream. After `ended` or `lost` nothing more does. */
export interface StreamListener {
  onHeaders(headers: ReadonlyMap<string, string>): void;
  /** The piece is lent. */
  onData(piece: Buffer): void;
  /** The other side has said all it had to say. */
  onEnd(): void;
  /** `unsent`: nothing of the stream was looked at by the other side. */
  onLost(kind: 'unsent' | 'lost', cause?: Error): void;
}

export interface Stream {
  /** Whether anything of it has left. */
  readonly isSent: boolean;
  send(pieces: Pieces, last: boolean): void;
  /** Holds the other side back once its window is used up, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends it without a word to its listener. */
  cancel(): void;
}

export interface Connection {
  /** False when no further stream can be opened on it. */
  readonly isUsable: boolean;
  open(headers: Buffer, listener: StreamListener): Stream;
  /** An answer is overdue: ask for a sign of life at once. */
  checkAlive(): void;
  destroy(): void;
}

/**
 * A TCP and TLS handshake between neighbours takes a few milliseconds, and so does the answer to a ping; longer than this,
 * nobody is there. Members that are far from each other have a longer election timeout, and then so much is waited for.
 */
export const timeoutMinMs = 1_000;

/** Far more than a list page needs in flight, so that the window never slows a fast network. */
export const connectionWindowBytes = 32 * 1024 * 1024;

/** What a watch that is not read may pile up in the kernel's place. */
export const streamWindowBytes = 2 * 1024 * 1024;

/** Headers of an answer are a few hundred bytes. */
const headerBytesMax = 64 * 1024;

export interface ConnectOptions {
  readonly dial: Dial;
  /** The number of the first stream. Tests begin near the end. */
  readonly firstStreamId: number;
  /** How long a handshake and the answer to a ping may take. */
  readonly timeoutMs: number;
}

export function connect(
  endpoint: string,
  credentials: TlsCredentials | undefined,
  clock: Clock,
  options: Partial<ConnectOptions> = {},
): Connection {
  return new ClientConnection(endpoint, credentials, clock, {
    dial,
    firstStreamId: 1,
    timeoutMs: timeoutMinMs,
    ...options,
  });
}

class ClientConnection implements Connection {
  readonly #endpoint: string;
  readonly #clock: Clock;
  readonly #socket: Socket;
  readonly #outgoing: CoalescingWriter;
  readonly #headers = new HeaderDecoder();
  readonly #units = createFrameReader();
  /** Those that have a number. */
  readonly #streams = new Map<number, ClientStream>();
  /** Those that have none yet, because there was no connection or no room for more of them. */
  readonly #unopened = new Set<ClientStream>();
  /** Those that have something to send, in the order in which they take turns, a frame each. */
  readonly #sending = new Set<ClientStream>();
  #out: Uint8Array[] = [];
  #flushing = false;
  #connected = false;
  #greeted = false;
  #destroyed = false;
  #leaving = false;
  #nextNumber: number;
  /** When the other side comes to remember less, the next header block has to say that nothing is enough. */
  #tableUpdate: 'none' | 'due' | 'sent' = 'none';
  #peerStreamsMax = Number.POSITIVE_INFINITY;
  #peerFrameBytesMax = ourFrameBytesMax;
  #peerInitialWindow = initialWindowBytes;
  #sendWindow = initialWindowBytes;
  readonly #receiveWindow = new ReceiveWindow(connectionWindowBytes);
  /** A header that has begun and goes on in further frames; nothing else may come between. */
  #unfinished:
    | { readonly number: number; readonly last: boolean; readonly pieces: Buffer[]; bytes: number }
    | undefined;
  #cancelConnectTimer: () => void;
  readonly #pings: Keepalive;

  constructor(
    endpoint: string,
    credentials: TlsCredentials | undefined,
    clock: Clock,
    { dial, firstStreamId: firstNumber, timeoutMs }: ConnectOptions,
  ) {
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#nextNumber = firstNumber;
    this.#pings = new Keepalive({
      clock,
      timeoutMs,
      send: () => this.write(Buffer.concat([frameHead(frameTypes.ping, 0, 0, 8), Buffer.alloc(8)])),
      isInUse: () => this.#streams.size > 0,
      onTimeout: (why) => this.#tearDown(new Error(`${endpoint} ${why}`)),
    });
    this.#cancelConnectTimer = setStallAwareTimer(clock, timeoutMs, () =>
      this.#tearDown(new Error(`${endpoint} took no connection within ${timeoutMs} ms`)),
    );
    this.#socket = dial(new URL(endpoint), credentials, {
      onConnect: () => this.#begin(),
      onData: (piece) => this.#receive(piece),
    });
    this.#outgoing = new CoalescingWriter(this.#socket);
    this.#socket.on('error', (error) => this.#tearDown(error));
    this.#socket.on('end', () => this.#tearDown());
    this.#socket.on('close', () => this.#tearDown());
  }

  get isUsable(): boolean {
    return !this.#destroyed && !this.#leaving;
  }

  open(headers: Buffer, listener: StreamListener): Stream {
    const stream = new ClientStream(this, headers, listener);
    this.#unopened.add(stream);
    this.flushSoon();
    return stream;
  }

  checkAlive(): void {
    if (this.#connected && !this.#destroyed) this.#pings.pingNow();
  }

  destroy(): void {
    this.#tearDown();
  }

  write(frame: Buffer): void {
    this.#out.push(frame);
    this.flushSoon();
  }

  /** The stream has something to send. */
  ready(stream: ClientStream): void {
    this.#sending.add(stream);
    this.flushSoon();
  }

  /** The stream is at its end, for whatever reason. */
  release(stream: ClientStream): void {
    this.#sending.delete(stream);
    if (stream.number === 0) this.#unopened.delete(stream);
    else this.#streams.delete(stream.number);
    if (this.#unopened.size > 0 || this.#leaving) this.flushSoon();
  }

  flushSoon(): void {
    if (this.#flushing || !this.#connected || this.#destroyed) return;
    this.#flushing = true;
    this.#clock.soon(() => this.#flush());
  }

  #begin(): void {
    this.#connected = true;
    this.#cancelConnectTimer();
    this.#out.unshift(
      preface,
      settingsFrame([
        [settingNumbers.enablePush, 0],
        [settingNumbers.initialWindowSize, streamWindowBytes],
      ]),
      numberFrame(frameTypes.windowUpdate, 0, connectionWindowBytes - initialWindowBytes),
    );
    this.#pings.start();
    this.flushSoon();
  }

  #flush(): void {
    this.#flushing = false;
    if (this.#destroyed) return;
    this.#openStreams();
    // Whoever has more to send than a frame comes again behind the others.
    for (const stream of this.#sending) this.#sendFrom(stream);
    if (this.#out.length > 0) this.#outgoing.write(this.#out);
    this.#out = [];
    // Behind what was to be said.
    if (this.#leaving && this.#streams.size === 0) this.#socket.end(() => this.#tearDown());
  }

  #openStreams(): void {
    for (const stream of this.#unopened) {
      if (this.#streams.size >= this.#peerStreamsMax) return;
      this.#unopened.delete(stream);
      stream.open(this.#nextNumber, this.#peerInitialWindow);
      this.#streams.set(stream.number, stream);
      const block = this.#tableUpdate === 'due' ? Buffer.concat([clearTableUpdate, stream.headers]) : stream.headers;
      if (this.#tableUpdate === 'due') this.#tableUpdate = 'sent';
      this.#out.push(frameHead(frameTypes.headers, flags.endHeaders, stream.number, block.length), block);
      this.#nextNumber += 2;
      // Numbers are used up after some thousand million calls. Whoever comes now waits for the next connection.
      if (this.#nextNumber > number31Max) return this.#leave();
    }
  }

  #sendFrom(stream: ClientStream): void {
    if (stream.number === 0) return;
    if (stream.unsentBytes > 0) {
      const room = Math.min(this.#sendWindow, stream.sendWindow, this.#peerFrameBytesMax);
      if (room <= 0) return;
      const pieces = stream.take(room);
      const bytes = totalLength(pieces);
      this.#sendWindow -= bytes;
      this.#out.push(frameHead(frameTypes.data, stream.allSent ? flags.endStream : 0, stream.number, bytes), ...pieces);
    }
    this.#sending.delete(stream);
    if (stream.unsentBytes > 0) this.#sending.add(stream);
  }

  #receive(piece: Buffer): void {
    if (this.#destroyed) return;
    try {
      this.#units.push(piece, (held, start, end) => this.#frame(held, start, end));
    } catch (error) {
      if (!(error instanceof Http2ProtocolError)) throw error;
      this.#tearDown(new Error(`${this.#endpoint} speaks no HTTP/2: ${error.message}`, { cause: error }));
    }
  }

  #frame(held: Buffer, start: number, end: number): void {
    const type = held[start + 3] as number;
    const flagged = held[start + 4] as number;
    const number = held.readUInt32BE(start + 5) & number31Max;
    const at = start + headBytes;
    if (!this.#greeted && type !== frameTypes.settings) throw new Http2ProtocolError('it does not begin with settings');
    this.#greeted = true;
    if (this.#unfinished && (type !== frameTypes.continuation || number !== this.#unfinished.number))
      throw new Http2ProtocolError('a header that is not gone on with');
    switch (type) {
      case frameTypes.data:
        return this.#data(number, flagged, held, at, end);
      case frameTypes.headers:
        return this.#beginHeader(number, flagged, unpadded(held, at, end, flagged));
      case frameTypes.continuation:
        return this.#goOnWithHeader(flagged, held.subarray(at, end));
      case frameTypes.resetStream:
        return this.#reset(number, numberAt(held, at, end));
      case frameTypes.settings:
        return this.#settings(flagged, held, at, end);
      case frameTypes.ping:
        return this.#ping(flagged, held.subarray(at, end));
      case frameTypes.goAway:
        return this.#goAway(numberAt(held, at, end) & number31Max);
      case frameTypes.windowUpdate:
        return this.#windowUpdate(number, numberAt(held, at, end) & number31Max);
      case frameTypes.pushPromise:
        throw new Http2ProtocolError('it pushes, which was not wanted');
      // A type that is not known is to be ignored.
    }
  }

  /** Undefined for a stream that is over on our side; the other side may not know that yet. */
  #stream(number: number): ClientStream | undefined {
    if (number % 2 === 0 || number >= this.#nextNumber)
      throw new Http2ProtocolError(`stream ${number} was never opened`);
    return this.#streams.get(number);
  }

  #data(number: number, flagged: number, held: Buffer, at: number, end: number): void {
    this.#pings.noteActivity();
    const owed = this.#receiveWindow.take(end - at);
    if (owed > 0) this.write(numberFrame(frameTypes.windowUpdate, 0, owed));
    this.#stream(number)?.received(unpadded(held, at, end, flagged), end - at, (flagged & flags.endStream) !== 0);
  }

  #beginHeader(number: number, flagged: number, block: Buffer): void {
    this.#stream(number);
    const fragment = (flagged & flags.priority) === 0 ? block : block.subarray(5);
    const last = (flagged & flags.endStream) !== 0;
    if ((flagged & flags.endHeaders) !== 0) return this.#header(number, last, fragment);
    this.#unfinished = { number, last, pieces: [Buffer.from(fragment)], bytes: fragment.length };
  }

  #goOnWithHeader(flagged: number, fragment: Buffer): void {
    const header = this.#unfinished;
    if (!header) throw new Http2ProtocolError('a header goes on that has not begun');
    header.pieces.push(Buffer.from(fragment));
    // An empty piece counts as well: there could be any number of them.
    header.bytes += fragment.length + headBytes;
    if (header.bytes > headerBytesMax) throw new Http2ProtocolError(`a header of more than ${headerBytesMax} bytes`);
    if ((flagged & flags.endHeaders) === 0) return;
    this.#unfinished = undefined;
    this.#header(header.number, header.last, Buffer.concat(header.pieces));
  }

  #header(number: number, last: boolean, block: Buffer): void {
    this.#pings.noteActivity();
    // Read even if nobody waits for it any more: those that follow may refer to it.
    const headers = this.#headers.read(block);
    this.#stream(number)?.told(headers, last);
  }

  #reset(number: number, code: number): void {
    this.#stream(number)?.end(
      code === errorCodes.refusedStream ? 'unsent' : 'lost',
      new Error(`reset with code ${code}`),
    );
  }

  #settings(flagged: number, held: Buffer, at: number, end: number): void {
    if ((flagged & flags.ack) !== 0) return;
    if ((end - at) % 6 !== 0) throw new Http2ProtocolError('broken settings');
    for (let setting = at; setting < end; setting += 6) {
      this.#setting(held.readUInt16BE(setting), held.readUInt32BE(setting + 2));
    }
    this.write(frameHead(frameTypes.settings, flags.ack, 0, 0));
  }

  #setting(number: number, value: number): void {
    if (number === settingNumbers.concurrentStreamsMax) this.#peerStreamsMax = value;
    else if (number === settingNumbers.frameBytesMax) this.#peerFrameBytesMax = Math.max(ourFrameBytesMax, value);
    else if (number === settingNumbers.initialWindowSize) {
      if (value > number31Max) throw new Http2ProtocolError(`a window of ${value} bytes`);
      for (const stream of this.#streams.values()) {
        stream.sendWindow += value - this.#peerInitialWindow;
        if (stream.sendWindow > number31Max) throw new Http2ProtocolError('a window beyond all bounds');
      }
      this.#peerInitialWindow = value;
    } else if (number === settingNumbers.headerTableSize && value < tableBytesMax && this.#tableUpdate === 'none')
      this.#tableUpdate = 'due';
  }

  #ping(flagged: number, payload: Buffer): void {
    if ((flagged & flags.ack) === 0) {
      this.write(Buffer.concat([frameHead(frameTypes.ping, flags.ack, 0, payload.length), payload]));
      return;
    }
    this.#pings.noteAck();
  }

  /** The other side finishes what it has, up to a stream, and begins nothing new. */
  #goAway(lastNumber: number): void {
    for (const stream of [...this.#streams.values()]) {
      if (stream.number > lastNumber) stream.end('unsent', new Error('the other side is leaving'));
    }
    this.#leave();
  }

  #leave(): void {
    this.#leaving = true;
    for (const stream of this.#unopened) stream.end('unsent', new Error('the connection takes no more'));
    this.flushSoon();
  }

  #windowUpdate(number: number, increment: number): void {
    if (number === 0) {
      if (increment === 0) throw new Http2ProtocolError('a window that grows by nothing');
      this.#sendWindow += increment;
      if (this.#sendWindow > number31Max) throw new Http2ProtocolError('a window beyond all bounds');
    } else this.#stream(number)?.grow(increment);
    if (this.#sending.size > 0) this.flushSoon();
  }

  #tearDown(cause?: Error): void {
    if (this.#destroyed) return;
    this.#destroyed = true;
    this.#cancelConnectTimer();
    this.#pings.stop();
    this.#socket.destroy();
    for (const stream of this.#unopened) stream.end('unsent', cause);
    for (const stream of [...this.#streams.values()]) stream.end('lost', cause);
  }
}

class ClientStream implements Stream {
  readonly headers: Buffer;
  number = 0;
  sendWindow = 0;
  unsentBytes = 0;
  readonly #connection: ClientConnection;
  readonly #listener: StreamListener;
  #unsent: Uint8Array[] = [];
  #lastGiven = false;
  #over = false;
  #paused = false;
  readonly #receiveWindow = new ReceiveWindow(streamWindowBytes);

  constructor(connection: ClientConnection, headers: Buffer, listener: StreamListener) {
    this.#connection = connection;
    this.headers = headers;
    this.#listener = listener;
  }

  get isSent(): boolean {
    return this.number > 0;
  }

  /** Whether our side of it is closed by what was taken last. */
  get allSent(): boolean {
    return this.#lastGiven && this.unsentBytes === 0;
  }

  open(number: number, sendWindow: number): void {
    this.number = number;
    this.sendWindow = sendWindow;
  }

  send(pieces: Pieces, last: boolean): void {
    if (this.#over) return;
    this.#unsent.push(...pieces);
    this.unsentBytes += totalLength(pieces);
    this.#lastGiven = last;
    this.#connection.ready(this);
  }

  /** The other side has room for more. A fault in that is one of this stream alone. */
  grow(increment: number): void {
    this.sendWindow += increment;
    if (increment === 0) this.#fail(errorCodes.protocolError, 'a window that grows by nothing');
    else if (this.sendWindow > number31Max) this.#fail(errorCodes.flowControlError, 'a window beyond all bounds');
  }

  #fail(code: number, why: string): void {
    this.#connection.write(numberFrame(frameTypes.resetStream, this.number, code));
    this.end('lost', new Http2ProtocolError(why));
  }

  /** What comes next, as much of it as there is room for. */
  take(bytesMax: number): Pieces {
    const pieces: Uint8Array[] = [];
    let room = bytesMax;
    for (let next = this.#unsent[0]; next && room > 0; next = this.#unsent[0]) {
      const piece = next.length <= room ? next : next.subarray(0, room);
      if (piece === next) this.#unsent.shift();
      else this.#unsent[0] = next.subarray(room);
      pieces.push(piece);
      room -= piece.length;
    }
    const taken = bytesMax - room;
    this.unsentBytes -= taken;
    this.sendWindow -= taken;
    return pieces;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    this.#makeRoom(0);
  }

  cancel(): void {
    if (this.#over) return;
    this.#finish();
    if (this.isSent) this.#connection.write(numberFrame(frameTypes.resetStream, this.number, errorCodes.cancel));
  }

  told(headers: ReadonlyMap<string, string>, last: boolean): void {
    this.#listener.onHeaders(headers);
    if (last) this.#endedByPeer();
  }

  received(piece: Buffer, windowBytes: number, last: boolean): void {
    this.#makeRoom(windowBytes);
    this.#listener.onData(piece);
    if (last) this.#endedByPeer();
  }

  end(kind: 'unsent' | 'lost', cause?: Error): void {
    if (this.#over) return;
    this.#finish();
    this.#listener.onLost(kind, cause);
  }

  #endedByPeer(): void {
    if (this.#over) return;
    // An answer may come before all of the question has been heard.
    if (this.allSent) this.#finish();
    else this.cancel();
    this.#listener.onEnd();
  }

  #finish(): void {
    this.#over = true;
    this.#unsent = [];
    this.#connection.release(this);
  }

  #makeRoom(takenBytes: number): void {
    if (this.#paused) return this.#receiveWindow.hold(takenBytes);
    const owed = this.#receiveWindow.take(takenBytes);
    if (owed > 0) this.#connection.write(numberFrame(frameTypes.windowUpdate, this.number, owed));
  }
}

/** How much the other side may still send. It is told of new room when half of it is used up, and not for each piece. */
class ReceiveWindow {
  readonly #bytes: number;
  #usedBytes = 0;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  /** Gives how much room is to be told of. */
  take(bytes: number): number {
    this.hold(bytes);
    if (this.#usedBytes < this.#bytes / 2) return 0;
    const owed = this.#usedBytes;
    this.#usedBytes = 0;
    return owed;
  }

  hold(bytes: number): void {
    this.#usedBytes += bytes;
    if (this.#usedBytes > this.#bytes) throw new Http2ProtocolError('more was sent than there was room for');
  }
}

function unpadded(held: Buffer, at: number, end: number, flagged: number): Buffer {
  if ((flagged & flags.padded) === 0) return held.subarray(at, end);
  const padding = held[at] ?? 0;
  if (at + 1 + padding > end) throw new Http2ProtocolError('more padding than payload');
  return held.subarray(at + 1, end - padding);
}

function numberAt(held: Buffer, at: number, end: number): number {
  if (end - at < 4) throw new Http2ProtocolError('a payload that is too short');
  return held.readUInt32BE(at);
}
