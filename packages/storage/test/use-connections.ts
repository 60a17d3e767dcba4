import type { AddressInfo, Server } from 'node:net';
import { afterEach } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { Connection } from '../src/etcd/http2/connection.ts';
import { settingsFrame } from '../src/etcd/http2/frames.ts';
import { encodeHeaderBlock } from '../src/etcd/http2/header-block.ts';
import type { Stream, StreamListener } from '../src/etcd/http2/stream.ts';

/** The frame that a peer sends first, and the header block of a response. */
export const greeting = settingsFrame([]);
export const okHeader = encodeHeaderBlock([[':status', '200']]);

export const requestHeaders = encodeHeaderBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'peer'],
]);

export interface Connections {
  /** Listens on a port of this machine, and connects to it. */
  connectTo(server: Server): Promise<Connection>;
  /** Closes this after the test; the last one first. */
  closeLater(close: () => void): void;
}

/** Connections to servers of a test, which end with it. */
export function useConnections(): Connections {
  const closings: (() => void)[] = [];
  afterEach(() => {
    for (const close of closings.splice(0).toReversed()) close();
  });
  const closeLater = (close: () => void): void => void closings.push(close);
  return {
    closeLater,
    connectTo: async (server) => {
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      const connection = new Connection(`http://127.0.0.1:${port}`, undefined, systemClock);
      closeLater(() => server.close());
      closeLater(() => connection.destroy());
      return connection;
    },
  };
}

export interface Call {
  readonly stream: Stream;
  readonly headers: ReadonlyMap<string, string>[];
  readonly body: Promise<Buffer>;
}

/** Sends a request in one piece and collects its response. */
export function ask(connection: Connection, request: Buffer): Call {
  const headers: ReadonlyMap<string, string>[] = [];
  const pieces: Buffer[] = [];
  const { promise: body, resolve, reject } = Promise.withResolvers<Buffer>();
  const listener: StreamListener = {
    onHeaders: (received) => headers.push(received),
    onData: (piece) => pieces.push(Buffer.from(piece)),
    onEnd: () => resolve(Buffer.concat(pieces)),
    onLost: (kind, cause) => reject(Object.assign(new Error(kind), { cause })),
  };
  const stream = connection.open(requestHeaders, listener);
  stream.send([request], true);
  return { stream, headers, body };
}

/** The body of the response, or how the call was lost. */
export const fateOf = ({ body }: Call): Promise<string> => body.then(String, ({ message }: Error) => message);
