import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { BodyWriter } from '../request/write-body.ts';

/**
 * Writes chunks of HTTP/1.1 without Node's framing. Node writes each chunk in three parts; here it is encoded once, and
 * shared by all watchers of an event. Node still ends the response.
 */
export function bodyWriterFor(response: ServerResponse): BodyWriter {
  const { socket } = response;
  // A pipelined response has no socket yet, and HTTP/1.0 has no chunks.
  return socket && response.chunkedEncoding ? new ChunkedBodyWriter(response, socket) : response;
}

class ChunkedBodyWriter implements BodyWriter {
  readonly #response: ServerResponse;
  readonly #socket: Socket;

  constructor(response: ServerResponse, socket: Socket) {
    this.#response = response;
    this.#socket = socket;
  }

  /** An empty chunk would end the response. */
  write(bytes: Buffer, sent?: (error?: Error | null) => void): boolean {
    return this.#socket.write(bytes.length === 0 ? bytes : encodeChunk(bytes), sent);
  }

  end(): void {
    this.#response.end();
  }

  on(event: 'drain' | 'close', listener: () => void): void {
    this.#socket.on(event, listener);
  }

  off(event: 'drain' | 'close', listener: () => void): void {
    this.#socket.off(event, listener);
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  get writableEnded(): boolean {
    return this.#response.writableEnded;
  }

  get destroyed(): boolean {
    return this.#socket.destroyed || this.#response.destroyed;
  }
}

const chunks = new WeakMap<Buffer, Buffer>();

function encodeChunk(bytes: Buffer): Buffer {
  let chunk = chunks.get(bytes);
  if (!chunk) {
    chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'), bytes, lineEnd]);
    chunks.set(bytes, chunk);
  }
  return chunk;
}

const lineEnd = Buffer.from('\r\n', 'latin1');
