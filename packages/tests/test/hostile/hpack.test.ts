import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Http2Server } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { frame, frames, headers, literals, preface } from '@cluster-apiserver/testkit/http2-frames';
import { decodeHeaderBlock } from './hpack.ts';

const values = [
  ...[200, 201, 204, 304, 404, 409, 418, 429, 503, 504].map((status) => [':status', `${status}`] as const),
  ['content-type', 'application/json;as=Table;g=meta.k8s.io;v=v1'],
  ['warning', '299 - "unknown field \\"a\\\\b\\""'],
  // All characters except controls, without leading or trailing spaces.
  ['x-all', String.fromCharCode(...Array.from({ length: 95 }, (_, at) => 33 + at)).replace('\x7f', '')],
  ['x-upper-half', String.fromCharCode(...Array.from({ length: 128 }, (_, at) => 128 + at))],
  ['x-long', 'v'.repeat(5_000)],
] as const;

let server: Http2Server;
beforeAll(async () => {
  server = createServer();
  server.on('stream', (stream, { ':path': path }) => {
    const [name, value] = values[Number(path?.slice(1))] ?? ['', ''];
    stream.respond(name === ':status' ? { ':status': Number(value) } : { ':status': 200, [name]: value }, {
      endStream: true,
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => void server.close());

test.each(values.map(([name, value], at) => [name, value, at] as const))(
  "the encoding of servers' HTTP/2 library is decoded: %s: %s",
  async (name, value, at) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const noTable = frame(frames.settings, 0, 0, Buffer.from([0, 1, 0, 0, 0, 0]));
    const request = literals([
      [':method', 'GET'],
      [':path', `/${at}`],
      [':scheme', 'http'],
      [':authority', 'x'],
    ]);
    socket.write(Buffer.concat([preface, noTable, headers(1, request, 5)]));
    let received = Buffer.alloc(0);
    for await (const piece of socket) {
      received = Buffer.concat([received, piece as Buffer]);
      const block = headersIn(received);
      if (!block) continue;
      expect(decodeHeaderBlock(block)).toContainEqual([name, value]);
      break;
    }
    socket.destroy();
  },
);

/** The payload of the first complete HEADERS frame. */
function headersIn(received: Buffer): Buffer | undefined {
  for (let at = 0; received.length - at >= 9; ) {
    const end = at + 9 + received.readUIntBE(at, 3);
    if (received[at + 3] === frames.headers && end <= received.length) return received.subarray(at + 9, end);
    at = end;
  }
  return undefined;
}

test.each([
  ['an index into the dynamic table', [0xbe]],
  ['a truncated string', [0x00, 0x05, 0x61]],
  ['invalid padding', [0x00, 0x81, 0x00, 0x00]],
  ['an unterminated integer', [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff]],
])('%s is an error', (_, bytes) => {
  expect(() => decodeHeaderBlock(Buffer.from(bytes))).toThrow('HPACK');
});
