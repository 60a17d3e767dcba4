/**
 * This project's own HTTP/2 client connection, with as much of the protocol as gRPC needs. Frames that are queued at about
 * the same time are sent in one write. A connection that cannot be established, breaks the protocol or answers no ping is
 * closed, and its streams end with an error, so that callers use another member.
 */
import type { Socket } from 'node:net';
import { type Clock, Coalescer } from '@cluster-apiserver/base';
import { totalLength } from '../../pieces.ts';
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
  number24Max,
  number31Max,
  numberFrame,
  frameBytesMax as ourFrameBytesMax,
  preface,
  settingNumbers,
  settingsFrame,
} from './frames.ts';
import { CoalescingWriter } from './coalescing-writer.ts';
import { goAwayReason, numberAt, unpadded } from './frame-payload.ts';
import { clearTableUpdate, tableBytesMax } from './header-block.ts';
import { HeaderReader, type ReceivedHeaders } from './header-reader.ts';
import { Keepalive } from './keepalive.ts';
import { Stream, type StreamListener, type StreamOwner, streamWindowBytes } from './stream.ts';
import { ReceiveWindow } from './receive-window.ts';

export interface ConnectOptions {
  readonly dial: Dial;
  /** The ID of the first stream. Tests begin near the largest one. */
  readonly firstStreamId: number;
  /** The timeout of the handshake and of a ping. */
  readonly timeoutMs: number;
}

/**
 * The timeout of the handshake and of a ping, which take a few milliseconds in one data centre. With a longer election
 * timeout, as for members that are far apart, the timeout is as long.
 */
export const timeoutMinMs = 1_000;

/** So many answers to pings and settings wait for a peer that does not read: any number of them would fill the memory. */
const unreadAnswersMax = 10_000;

/** Far more than a page of a list needs in flight, so that flow control never slows down a fast network. */
const connectionWindowBytes = 32 * 1024 * 1024;

export class Connection implements StreamOwner {
  readonly #endpoint: string;
  readonly #socket: Socket;
  readonly #writer: CoalescingWriter;
  readonly #headerReader = new HeaderReader();
  readonly #frameReader = createFrameReader();
  /** Open streams by their ID. */
  readonly #streams = new Map<number, Stream>();
  /** Streams without an ID yet, before the handshake or beyond the peer's limit. */
  readonly #unopened = new Set<Stream>();
  /** Streams with something to send. They take turns, one frame each. */
  readonly #sending = new Set<Stream>();
  #unsentFrames: Uint8Array[] = [];
  readonly #flushes: Coalescer;
  #isConnected = false;
  #hasReceivedSettings = false;
  #isDestroyed = false;
  #isClosing = false;
  /** Why the peer closes the connection, if it has said so. */
  #goAway: Error | undefined;
  #nextId: number;
  /** After the peer has reduced its header table, the next header block must start with a table size update. */
  #tableUpdate: 'none' | 'due' | 'sent' = 'none';
  #peerStreamsMax = Number.POSITIVE_INFINITY;
  #peerFrameBytesMax = ourFrameBytesMax;
  #peerInitialWindow = initialWindowBytes;
  #sendWindow = initialWindowBytes;
  readonly #receiveWindow = new ReceiveWindow(connectionWindowBytes);
  #unreadAnswers = 0;
  #cancelConnectTimer: () => void;
  readonly #pings: Keepalive;

  constructor(
    endpoint: string,
    credentials: TlsCredentials | undefined,
    clock: Clock,
    { dial: openSocket = dial, firstStreamId = 1, timeoutMs = timeoutMinMs }: Partial<ConnectOptions> = {},
  ) {
    this.#endpoint = endpoint;
    this.#flushes = new Coalescer(clock, () => this.#flush());
    this.#nextId = firstStreamId;
    this.#pings = new Keepalive({
      clock,
      timeoutMs,
      send: () => this.write(Buffer.concat([frameHead(frameTypes.ping, 0, 0, 8), Buffer.alloc(8)])),
      isInUse: () => this.#streams.size > 0,
      onTimeout: (why) => this.#tearDown(new Error(`${endpoint} ${why}`)),
    });
    this.#cancelConnectTimer = setStallAwareTimer(clock, timeoutMs, () =>
      this.#tearDown(new Error(`${endpoint} accepted no connection within ${Math.round(timeoutMs)} ms`)),
    );
    this.#socket = openSocket(new URL(endpoint), credentials, {
      onConnect: () => this.#startSession(),
      onData: (piece) => this.#receive(piece),
    });
    this.#writer = new CoalescingWriter(this.#socket);
    this.#socket.on('error', (error) => this.#tearDown(error));
    this.#socket.on('end', () => this.#tearDown());
    this.#socket.on('close', () => this.#tearDown());
  }

  /** Whether further streams can be opened. */
  get isUsable(): boolean {
    return !this.#isDestroyed && !this.#isClosing;
  }

  /** False after its end. Until then, one that is not usable may still serve streams. */
  get isOpen(): boolean {
    return !this.#isDestroyed;
  }

  open(headers: Buffer, listener: StreamListener): Stream {
    const stream = new Stream(this, headers, listener);
    this.#unopened.add(stream);
    this.flushSoon();
    return stream;
  }

  /** A response is overdue: sends a ping at once. */
  checkAlive(): void {
    if (this.#isConnected && !this.#isDestroyed) this.#pings.pingNow();
  }

  destroy(): void {
    this.#tearDown();
  }

  write(frame: Buffer): void {
    this.#unsentFrames.push(frame);
    this.flushSoon();
  }

  queueForSending(stream: Stream): void {
    this.#sending.add(stream);
    this.flushSoon();
  }

  release(stream: Stream): void {
    this.#sending.delete(stream);
    if (stream.id === 0) this.#unopened.delete(stream);
    else this.#streams.delete(stream.id);
    if (this.#unopened.size > 0 || this.#isClosing) this.flushSoon();
  }

  flushSoon(): void {
    if (this.#isConnected && !this.#isDestroyed) this.#flushes.request();
  }

  #startSession(): void {
    this.#isConnected = true;
    this.#cancelConnectTimer();
    this.#unsentFrames.unshift(
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
    if (this.#isDestroyed) return;
    this.#openStreams();
    // A stream with more than one frame to send queues again after the others.
    for (const stream of this.#sending) this.#sendFrom(stream);
    if (this.#unsentFrames.length > 0) this.#writer.write(this.#unsentFrames);
    this.#unsentFrames = [];
    // After the last frames.
    if (this.#isClosing && this.#streams.size === 0) this.#socket.end(() => this.#tearDown());
  }

  #openStreams(): void {
    for (const stream of this.#unopened) {
      if (this.#streams.size >= this.#peerStreamsMax) return;
      this.#unopened.delete(stream);
      stream.open(this.#nextId, this.#peerInitialWindow);
      this.#streams.set(stream.id, stream);
      const block = this.#tableUpdate === 'due' ? Buffer.concat([clearTableUpdate, stream.headers]) : stream.headers;
      if (this.#tableUpdate === 'due') this.#tableUpdate = 'sent';
      this.#unsentFrames.push(frameHead(frameTypes.headers, flags.endHeaders, stream.id, block.length), block);
      this.#nextId += 2;
      // The IDs are used up after a thousand million streams. Later calls use a new connection.
      if (this.#nextId > number31Max) return this.#stopOpening();
    }
  }

  #sendFrom(stream: Stream): void {
    if (stream.id === 0) return;
    if (stream.unsentBytes > 0) {
      const bytesMax = Math.min(this.#sendWindow, stream.sendWindow, this.#peerFrameBytesMax);
      if (bytesMax <= 0) return;
      const pieces = stream.takeUnsent(bytesMax);
      const bytes = totalLength(pieces);
      this.#sendWindow -= bytes;
      this.#unsentFrames.push(
        frameHead(frameTypes.data, stream.isAllSent ? flags.endStream : 0, stream.id, bytes),
        ...pieces,
      );
    }
    this.#sending.delete(stream);
    if (stream.unsentBytes > 0) this.#sending.add(stream);
  }

  #receive(piece: Buffer): void {
    if (this.#isDestroyed) return;
    try {
      this.#frameReader.push(piece, (held, start, end) => this.#handleFrame(held, start, end));
    } catch (error) {
      if (!(error instanceof Http2ProtocolError)) throw error;
      this.#tearDown(new Error(`${this.#endpoint} speaks no HTTP/2: ${error.message}`, { cause: error }));
    }
  }

  #handleFrame(held: Buffer, start: number, end: number): void {
    const type = held.readUInt8(start + 3);
    const frameFlags = held.readUInt8(start + 4);
    const id = held.readUInt32BE(start + 5) & number31Max;
    const at = start + headBytes;
    if (!this.#hasReceivedSettings && type !== frameTypes.settings)
      throw new Http2ProtocolError('its first frame is not SETTINGS');
    this.#hasReceivedSettings = true;
    this.#headerReader.requireContinuation(type, id);
    switch (type) {
      case frameTypes.data:
        return this.#handleData(id, frameFlags, held, at, end);
      case frameTypes.headers:
        return this.#handleHeaders(id, frameFlags, unpadded(held, at, end, frameFlags));
      case frameTypes.continuation:
        return this.#receiveHeaders(this.#headerReader.continue(frameFlags, held.subarray(at, end)));
      case frameTypes.resetStream:
        return this.#handleReset(id, numberAt(held, at, end));
      case frameTypes.settings:
        return this.#handleSettings(frameFlags, held, at, end);
      case frameTypes.ping:
        return this.#handlePing(frameFlags, held.subarray(at, end));
      case frameTypes.goAway:
        return this.#handleGoAway(numberAt(held, at, end) & number31Max, goAwayReason(held, at + 4, end));
      case frameTypes.windowUpdate:
        return this.#handleWindowUpdate(id, numberAt(held, at, end) & number31Max);
      case frameTypes.pushPromise:
        throw new Http2ProtocolError('it pushes, which is disabled');
      // Unknown frame types must be ignored.
    }
  }

  /** Undefined for a stream that has ended here, which the peer may not know yet. */
  #stream(id: number): Stream | undefined {
    if (id % 2 === 0 || id >= this.#nextId) throw new Http2ProtocolError(`stream ${id} was never opened`);
    return this.#streams.get(id);
  }

  #handleData(id: number, frameFlags: number, held: Buffer, at: number, end: number): void {
    this.#pings.noteActivity();
    const increment = this.#receiveWindow.receive(end - at);
    if (increment > 0) this.write(numberFrame(frameTypes.windowUpdate, 0, increment));
    this.#stream(id)?.receiveData(unpadded(held, at, end, frameFlags), end - at, (frameFlags & flags.endStream) !== 0);
  }

  #handleHeaders(id: number, frameFlags: number, block: Buffer): void {
    this.#stream(id);
    const fragment = (frameFlags & flags.priority) === 0 ? block : block.subarray(5);
    this.#receiveHeaders(this.#headerReader.begin(id, frameFlags, fragment));
  }

  #receiveHeaders(received: ReceivedHeaders | undefined): void {
    if (!received) return;
    this.#pings.noteActivity();
    this.#stream(received.id)?.receiveHeaders(received.headers, received.last);
  }

  #handleReset(id: number, code: number): void {
    this.#stream(id)?.end(code === errorCodes.refusedStream ? 'unsent' : 'lost', new Error(`reset with code ${code}`));
  }

  #handleSettings(frameFlags: number, held: Buffer, at: number, end: number): void {
    if ((frameFlags & flags.ack) !== 0) return;
    if ((end - at) % 6 !== 0) throw new Http2ProtocolError('broken settings');
    for (let setting = at; setting < end; setting += 6) {
      this.#applySetting(held.readUInt16BE(setting), held.readUInt32BE(setting + 2));
    }
    this.#answer(frameHead(frameTypes.settings, flags.ack, 0, 0));
  }

  #applySetting(setting: number, value: number): void {
    if (setting === settingNumbers.concurrentStreamsMax) this.#peerStreamsMax = value;
    else if (setting === settingNumbers.frameBytesMax) {
      if (value < ourFrameBytesMax || value > number24Max)
        throw new Http2ProtocolError(`frames of at most ${value} bytes`);
      this.#peerFrameBytesMax = value;
    } else if (setting === settingNumbers.initialWindowSize) {
      if (value > number31Max) throw new Http2ProtocolError(`a window of ${value} bytes`);
      for (const stream of this.#streams.values()) {
        stream.sendWindow += value - this.#peerInitialWindow;
        if (stream.sendWindow > number31Max) throw new Http2ProtocolError('a window that is too large');
      }
      this.#peerInitialWindow = value;
    } else if (setting === settingNumbers.headerTableSize && value < tableBytesMax && this.#tableUpdate === 'none')
      this.#tableUpdate = 'due';
  }

  #handlePing(frameFlags: number, payload: Buffer): void {
    if ((frameFlags & flags.ack) === 0) {
      this.#answer(Buffer.concat([frameHead(frameTypes.ping, flags.ack, 0, payload.length), payload]));
      return;
    }
    this.#pings.noteAck();
  }

  #answer(frame: Buffer): void {
    if (this.#socket.writableLength === 0) this.#unreadAnswers = 0;
    if (++this.#unreadAnswers > unreadAnswersMax)
      throw new Http2ProtocolError('it reads none of the answers that it asks for');
    this.write(frame);
  }

  /** The peer finishes its streams up to this ID and accepts no new ones. */
  #handleGoAway(lastId: number, reason: string): void {
    this.#goAway = new Error(`the peer sent GOAWAY${reason}`);
    for (const stream of [...this.#streams.values()]) {
      if (stream.id > lastId) stream.end('unsent', this.#goAway);
    }
    this.#stopOpening();
  }

  #stopOpening(): void {
    this.#isClosing = true;
    for (const stream of this.#unopened) stream.end('unsent', new Error('the connection accepts no new streams'));
    this.flushSoon();
  }

  #handleWindowUpdate(id: number, increment: number): void {
    if (id === 0) {
      if (increment === 0) throw new Http2ProtocolError('a window increment of 0');
      this.#sendWindow += increment;
      if (this.#sendWindow > number31Max) throw new Http2ProtocolError('a window that is too large');
    } else this.#stream(id)?.increaseSendWindow(increment);
    if (this.#sending.size > 0) this.flushSoon();
  }

  #tearDown(cause = this.#goAway): void {
    if (this.#isDestroyed) return;
    this.#isDestroyed = true;
    this.#cancelConnectTimer();
    this.#pings.stop();
    this.#socket.destroy();
    for (const stream of this.#unopened) stream.end('unsent', cause);
    for (const stream of [...this.#streams.values()]) stream.end('lost', cause);
  }
}
