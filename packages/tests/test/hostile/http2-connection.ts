/** HTTP/2 on a raw TLS socket: a client that can send anything, and reads with little memory. */
import { connect, type TLSSocket } from 'node:tls';
import {
  type Field,
  frame,
  frameHeadBytes,
  frames,
  literals,
  preface,
  requestHeaders,
  settingIds,
  settingsFrame,
  windowUpdate,
} from '@cluster-apiserver/testkit/http2-frames';
import { decodeHeaderBlock } from './hpack.ts';

export interface Http2Target {
  readonly port: number;
  readonly ca: Buffer;
}

export interface Http2Options {
  /** Initial window of each stream. */
  readonly windowBytes?: number;
  /** Called for every frame of the server, after the connection has processed it. */
  readonly onFrame?: (type: number, flags: number, stream: number, payload: Buffer) => void;
  /** Called with the header fields of every response. */
  readonly onHeaders?: (stream: number, fields: readonly Field[], ended: boolean) => void;
}

/** Maximum window size (RFC 9113, section 6.9.1). */
const windowBytesMax = 2 ** 31 - 1;
/** Initial window of every connection. */
const connectionWindowBytes = 65_535;
/** Concurrent streams until the server announces a limit. */
const streamsMaxDefault = 100;

export class Http2Connection {
  readonly socket: TLSSocket;
  readonly closed: Promise<void>;
  /** The limit that the server announced. */
  streamsMax = streamsMaxDefault;
  goaway = false;
  bytesRead = 0;
  readonly #options: Http2Options;
  #nextStream = 1;
  #rest: Buffer = Buffer.alloc(0);
  #block: { readonly stream: number; readonly ended: boolean; readonly pieces: Buffer[] } | undefined;

  private constructor(socket: TLSSocket, options: Http2Options) {
    this.socket = socket;
    this.#options = options;
    socket.on('data', (bytes: Buffer) => this.#read(bytes));
    socket.on('error', () => {}); // 'close' follows
    this.closed = new Promise((resolve) => socket.once('close', () => resolve()));
  }

  /** Resolves when the server's settings have arrived. */
  static open({ port, ca }: Http2Target, options: Http2Options = {}): Promise<Http2Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, ca, ALPNProtocols: ['h2'] });
      const rejected = (): void => reject(new Error('the server closed the connection before its settings'));
      socket.once('error', reject);
      socket.once('close', rejected);
      socket.once('secureConnect', () => {
        const connection = new Http2Connection(socket, {
          ...options,
          onFrame: (type, flags, stream, payload) => {
            if (type === frames.settings && (flags & 1) === 0) {
              socket.off('error', reject);
              socket.off('close', rejected);
              resolve(connection);
            }
            options.onFrame?.(type, flags, stream, payload);
          },
        });
        const windowBytes = options.windowBytes ?? windowBytesMax;
        connection.write([
          preface,
          settingsFrame([
            [settingIds.headerTableSize, 0],
            [settingIds.enablePush, 0],
            [settingIds.initialWindowSize, windowBytes],
          ]),
          windowUpdate(0, windowBytesMax - connectionWindowBytes),
        ]);
      });
    });
  }

  get isOpen(): boolean {
    return !this.socket.destroyed && this.socket.writable;
  }

  /** Returns the id of a new stream. */
  newStream(): number {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    return stream;
  }

  /** Sends the header fields of a request and returns its stream; the caller sends the body, if any. */
  request(fields: readonly Field[], { ended = true } = {}): number {
    const stream = this.newStream();
    this.write([requestHeaders(stream, literals(fields), ended)]);
    return stream;
  }

  write(bytes: readonly Buffer[]): void {
    if (this.isOpen) this.socket.write(bytes.length === 1 ? (bytes[0] as Buffer) : Buffer.concat(bytes));
  }

  destroy(): void {
    this.socket.destroy();
  }

  #read(bytes: Buffer): void {
    this.bytesRead += bytes.length;
    const all = this.#rest.length > 0 ? Buffer.concat([this.#rest, bytes]) : bytes;
    let at = 0;
    while (all.length - at >= frameHeadBytes) {
      const end = at + frameHeadBytes + all.readUIntBE(at, 3);
      if (end > all.length) break;
      const [type = 0, flags = 0] = [all[at + 3], all[at + 4]];
      this.#readFrame(type, flags, all.readUInt32BE(at + 5), all.subarray(at + frameHeadBytes, end));
      at = end;
    }
    this.#rest = at < all.length ? Buffer.from(all.subarray(at)) : Buffer.alloc(0);
  }

  #readFrame(type: number, flags: number, stream: number, payload: Buffer): void {
    if (type === frames.settings && (flags & 1) === 0) {
      for (let at = 0; at + 6 <= payload.length; at += 6)
        if (payload.readUInt16BE(at) === settingIds.maxConcurrentStreams)
          this.streamsMax = payload.readUInt32BE(at + 2);
      this.write([frame(frames.settings, 1, 0, Buffer.alloc(0))]);
    } else if (type === frames.ping && (flags & 1) === 0) this.write([frame(frames.ping, 1, 0, payload)]);
    else if (type === frames.goaway) this.goaway = true;
    else if (type === frames.data && payload.length > 0 && this.#options.windowBytes === undefined)
      this.#extendConnectionWindow(payload.length);
    else if (type === frames.headers || type === frames.continuation) this.#readHeaders(type, flags, stream, payload);
    this.#options.onFrame?.(type, flags, stream, payload);
  }

  #unreturnedBytes = 0;

  /** Keeps the connection readable; a single stream never receives as much as its window allows. */
  #extendConnectionWindow(bytes: number): void {
    this.#unreturnedBytes += bytes;
    if (this.#unreturnedBytes < windowBytesMax / 4) return;
    this.write([windowUpdate(0, this.#unreturnedBytes)]);
    this.#unreturnedBytes = 0;
  }

  #readHeaders(type: number, flags: number, stream: number, payload: Buffer): void {
    if (!this.#options.onHeaders) return;
    if (type === frames.headers) this.#block = { stream, ended: (flags & 1) !== 0, pieces: [] };
    const block = this.#block;
    if (!block) return;
    block.pieces.push(payload);
    if ((flags & 4) === 0) return;
    this.#block = undefined;
    this.#options.onHeaders(block.stream, fieldsOf(Buffer.concat(block.pieces)), block.ended);
  }
}

/** A malformed block becomes a field that no check accepts. */
function fieldsOf(block: Buffer): Field[] {
  try {
    return decodeHeaderBlock(block);
  } catch (error) {
    return [['malformed header block', String(error)]];
  }
}
