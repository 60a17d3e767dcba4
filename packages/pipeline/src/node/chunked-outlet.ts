import type { ServerResponse } from 'node:http';
import type { Outlet } from './outlet.ts';

/**
 * A stream over HTTP/1.1, past Node's own framing. Node writes each chunk in three pieces; here it is made once, and a
 * frame that goes to many watchers is the same chunk for all of them. The end of the stream is still the response's.
 */
export function chunkedOutlet(response: ServerResponse): Outlet {
  const { socket } = response;
  // A response behind others on its connection has no socket yet, and what has no chunks needs none.
  if (!socket || !response.chunkedEncoding) return response;
  return {
    // A chunk without bytes would be the end.
    write: (bytes, sent) => socket.write(bytes.length === 0 ? bytes : chunkOf(bytes), sent),
    end: () => response.end(),
    on: (event, listener) => socket.on(event, listener),
    off: (event, listener) => socket.off(event, listener),
    get writableLength() {
      return socket.writableLength;
    },
    get writableEnded() {
      return response.writableEnded;
    },
    get destroyed() {
      return socket.destroyed || response.destroyed;
    },
  };
}

const chunks = new WeakMap<Buffer, Buffer>();

function chunkOf(bytes: Buffer): Buffer {
  let chunk = chunks.get(bytes);
  if (!chunk) {
    chunk = Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`, 'latin1'), bytes, lineEnd]);
    chunks.set(bytes, chunk);
  }
  return chunk;
}

const lineEnd = Buffer.from('\r\n', 'latin1');
