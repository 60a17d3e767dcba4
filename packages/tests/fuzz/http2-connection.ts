import { systemClock as clock } from '@cluster-apiserver/base';
import {
  data,
  type Field,
  frame,
  frames,
  literals,
  requestHeaders,
  resetStream,
} from '@cluster-apiserver/testkit/http2-frames';
import { Http2Connection, type Http2Target } from '../test/hostile/http2-connection.ts';
import type { Request } from '../test/hostile/requests.ts';
import type { Response } from './input.ts';
import { hangMs, type SharedConnection, mayBeStream, type Outcome, streamPatienceMs } from './connection.ts';

/** Maximum frame size unless the server allows more; ours does not. */
const frameBytesMax = 16_384;
/** Initial flow-control window. */
const windowBytesDefault = 65_535;

interface OpenStream {
  fields: readonly Field[] | undefined;
  readonly pieces: Buffer[];
  readonly request: Request;
  /** Unsent rest of the body. */
  unsent: Buffer;
  windowBytes: number;
  settle(outcome: Outcome): void;
}

/**
 * An HTTP/2 connection that many requests share. When it ends, its requests are lost and the next request opens
 * another.
 */
export function openHttp2Connection(target: Http2Target): SharedConnection {
  let current: Promise<Session> | undefined;
  return {
    send: async (request) => {
      const opening = (current ??= openSession(target));
      const session = await opening.catch(() => undefined);
      if (!session?.isUsable) {
        if (current === opening) current = undefined;
        if (session) return http2Retry;
        return { lost: 'no connection' };
      }
      return session.send(request);
    },
    close: async () => (await current?.catch(() => undefined))?.close(),
  };
}

const http2Retry: Outcome = { lost: 'connection ended before' };

interface Session {
  readonly isUsable: boolean;
  send(request: Request): Promise<Outcome>;
  close(): void;
}

async function openSession(target: Http2Target): Promise<Session> {
  const streams = new Map<number, OpenStream>();
  let windowBytes = windowBytesDefault;
  let streamWindowBytes = windowBytesDefault;

  const respond = (stream: number, open: OpenStream, isWhole: boolean): void => {
    const status = Number(open.fields?.find(([name]) => name === ':status')?.[1]);
    const response: Response = { status, fields: open.fields ?? [], body: Buffer.concat(open.pieces), isWhole };
    streams.delete(stream);
    // The server may respond before it has received the whole body; the rest is not sent.
    if (open.unsent.length > 0) connection.write([resetStream(stream)]);
    open.settle({ response });
  };

  const upload = (): void => {
    for (const [stream, open] of streams) {
      while (open.unsent.length > 0) {
        const bytes = Math.min(frameBytesMax, open.unsent.length, windowBytes, open.windowBytes);
        if (bytes <= 0) break;
        windowBytes -= bytes;
        open.windowBytes -= bytes;
        const piece = open.unsent.subarray(0, bytes);
        open.unsent = open.unsent.subarray(bytes);
        connection.write([data(stream, piece, open.unsent.length === 0 ? 1 : 0)]);
      }
      if (windowBytes <= 0) return;
    }
  };

  const onFrame = (type: number, flags: number, stream: number, payload: Buffer): void => {
    if (type === frames.settings && (flags & 1) === 0) {
      for (let at = 0; at + 6 <= payload.length; at += 6)
        if (payload.readUInt16BE(at) === 4) streamWindowBytes = payload.readUInt32BE(at + 2);
      return;
    }
    const open = streams.get(stream);
    if (type === frames.windowUpdate) {
      if (stream === 0) windowBytes += payload.readUInt32BE(0);
      else if (open) open.windowBytes += payload.readUInt32BE(0);
      upload();
    } else if (!open) return;
    else if (type === frames.data) {
      open.pieces.push(Buffer.from(payload));
      if ((flags & 1) !== 0) respond(stream, open, true);
    } else if (type === frames.reset) {
      streams.delete(stream);
      open.settle({ lost: `reset ${payload.readUInt32BE(0)}` });
    }
  };

  const connection = await Http2Connection.open(target, {
    onFrame,
    onHeaders: (stream, fields, ended) => {
      const open = streams.get(stream);
      if (!open) return;
      open.fields ??= fields;
      if (ended) return respond(stream, open, true);
      if (mayBeStream(open.request) && !fields.some(([name]) => name === 'content-length')) {
        clock.after(streamPatienceMs, () => {
          if (!streams.has(stream)) return;
          connection.write([resetStream(stream)]);
          open.unsent = Buffer.alloc(0);
          respond(stream, open, false);
        });
      }
    },
  });
  void connection.closed.then(() => {
    for (const [stream, open] of streams) {
      streams.delete(stream);
      open.settle({ lost: connection.goaway ? 'goaway' : 'connection closed' });
    }
  });

  return {
    get isUsable() {
      return connection.isOpen && !connection.goaway;
    },
    send: (request) =>
      new Promise((resolve) => {
        const { method, target: path, headers, body } = request;
        const block = literals([
          [':method', method],
          [':path', path],
          [':scheme', 'https'],
          [':authority', '127.0.0.1'],
          ...headers,
          ...(body
            ? ([
                ['content-type', body.contentType],
                ['content-length', `${body.bytes.length}`],
              ] as const)
            : []),
        ]);
        const stream = connection.newStream();
        const cancelHang = clock.after(hangMs, () => {
          streams.delete(stream);
          connection.write([resetStream(stream)]);
          resolve({ fault: `no response within ${hangMs} ms` });
        });
        streams.set(stream, {
          fields: undefined,
          pieces: [],
          request,
          unsent: body?.bytes ?? Buffer.alloc(0),
          windowBytes: streamWindowBytes,
          settle: (outcome) => {
            cancelHang();
            resolve(outcome);
          },
        });
        const ended = body === undefined || body.bytes.length === 0;
        connection.write(headerFrames(stream, block, ended));
        if (!ended) upload();
      }),
    close: () => connection.destroy(),
  };
}

/** Splits a header block into as many frames as it needs. */
function headerFrames(stream: number, block: Buffer, ended: boolean): Buffer[] {
  if (block.length <= frameBytesMax) return [requestHeaders(stream, block, ended)];
  const all = [frame(frames.headers, ended ? 1 : 0, stream, block.subarray(0, frameBytesMax))];
  for (let at = frameBytesMax; at < block.length; at += frameBytesMax)
    all.push(
      frame(
        frames.continuation,
        at + frameBytesMax >= block.length ? 4 : 0,
        stream,
        block.subarray(at, at + frameBytesMax),
      ),
    );
  return all;
}
