import { describe, expect, test } from '@jest/globals';
import { requireValue } from '@cluster-apiserver/base';
import { array, assert, boolean, integer, nat, oneof, property, tuple, uint8Array } from 'fast-check';
import { clientFrame } from '@cluster-apiserver/testkit/web-socket-frames';
import { ClientFrameReader, messageBytesMax, type ClientMessage } from './client-frames.ts';

const text = (length: number, more: object = {}): Buffer => clientFrame(0x1, Buffer.alloc(length, 'a'), more);
const ping = (payload: string): Buffer => clientFrame(0x9, Buffer.from(payload));
const close = (code: number, reason: string | Buffer = ''): Buffer => {
  const payload = Buffer.concat([Buffer.alloc(2), Buffer.from(reason)]);
  payload.writeUInt16BE(code);
  return clientFrame(0x8, payload);
};
const head = (...bytes: number[]): Buffer => Buffer.from(bytes);

const cases: readonly [string, readonly Buffer[], ClientMessage][] = [
  ['a message is thrown away', [text(5)], {}],
  [
    'a message in several frames is thrown away',
    [text(5, { last: false }), clientFrame(0, Buffer.alloc(5), { last: true })],
    {},
  ],
  ['the longest message is thrown away', [text(messageBytesMax)], {}],
  ['a pong is ignored', [clientFrame(0xa, Buffer.from('x'))], {}],
  ['a ping is to be answered with its payload', [ping('hello')], { ping: Buffer.from('hello') }],
  [
    'a ping may come between the frames of a message',
    [text(5, { last: false }), ping('x'), clientFrame(0, Buffer.alloc(5))],
    { ping: Buffer.from('x') },
  ],
  ['a close without a code is normal', [clientFrame(0x8, Buffer.alloc(0))], { close: 1000 }],
  ['a close with a code gets it back', [close(1001, 'so long')], { close: 1001 }],
  ['a close with a code of an application gets it back', [close(4999)], { close: 4999 }],
  ['what follows a close does not count', [close(1000), ping('x'), head(0xff)], { close: 1000 }],
  ['a close with half a code is refused', [clientFrame(0x8, Buffer.alloc(1))], { close: 1002 }],
  ...[999, 1004, 1005, 1006, 1015, 2999, 5000].map((code): [string, Buffer[], ClientMessage] => [
    `a close with the code ${code} is refused`,
    [close(code)],
    { close: 1002 },
  ]),
  ['a close whose reason is no text is refused', [close(1000, Buffer.from([0xff]))], { close: 1007 }],
  ['a frame without a mask is refused', [clientFrame(0x1, Buffer.from('x'), { masked: false })], { close: 1002 }],
  ['a frame with a reserved bit is refused', [head(0xc1, 0x80, 0, 0, 0, 0)], { close: 1002 }],
  ['a frame of an unknown sort is refused', [head(0x83, 0x80, 0, 0, 0, 0)], { close: 1002 }],
  ['a control frame of an unknown sort is refused', [head(0x8b, 0x80, 0, 0, 0, 0)], { close: 1002 }],
  ['a control frame in parts is refused', [head(0x09, 0x80, 0, 0, 0, 0)], { close: 1002 }],
  ['a long control frame is refused', [clientFrame(0x9, Buffer.alloc(126))], { close: 1002 }],
  ['a continuation of nothing is refused', [clientFrame(0, Buffer.alloc(1))], { close: 1002 }],
  ['a message inside of another is refused', [text(5, { last: false }), text(5)], { close: 1002 }],
  ['a message that is too long is refused by its head', [text(messageBytesMax + 1).subarray(0, 14)], { close: 1009 }],
  [
    'a message that becomes too long is refused',
    [text(messageBytesMax, { last: false }), clientFrame(0, Buffer.alloc(1))],
    { close: 1009 },
  ],
  ['a text in characters of several bytes is thrown away', [clientFrame(0x1, Buffer.from('größe €'))], {}],
  [
    'a text with a character in two frames is thrown away',
    [clientFrame(0x1, Buffer.from([0xe2, 0x82]), { last: false }), ping('x'), clientFrame(0, Buffer.from([0xac]))],
    { ping: Buffer.from('x') },
  ],
  ['a text that is no UTF-8 is refused', [clientFrame(0x1, Buffer.from([0x61, 0xc3, 0x28]))], { close: 1007 }],
  [
    'a text that ends within a character is refused',
    [clientFrame(0x1, Buffer.from([0x61, 0xc3])), ping('x')],
    { close: 1007 },
  ],
  [
    'a text that ends within a character, with an empty frame, is refused',
    [clientFrame(0x1, Buffer.from([0xc3]), { last: false }), clientFrame(0, Buffer.alloc(0))],
    { close: 1007 },
  ],
  ['binary data need be no text', [clientFrame(0x2, Buffer.from([0xc3, 0x28])), text(1)], {}],
  ['a length of 125 in two bytes is refused', [head(0x82, 0xfe, 0, 125, 0, 0, 0, 0)], { close: 1002 }],
  [
    'a length of 65,535 in eight bytes is refused',
    [head(0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0)],
    { close: 1002 },
  ],
  [
    'a length beyond all numbers is refused',
    [head(0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0)],
    { close: 1009 },
  ],
];

describe.each(['at once', 'byte by byte'])('frames of a client that arrive %s:', (how) => {
  test.each(cases)('%s', (_, frames, expected) => {
    const bytes = Buffer.concat(frames);
    const pieces = how === 'at once' ? [bytes] : [...bytes].map((byte) => Buffer.from([byte]));
    const incoming = new ClientFrameReader();
    expect(Object.assign({}, ...pieces.map((piece) => incoming.read(piece)))).toEqual(expected);
  });
});

test('the latest of many pings that arrive at once is answered', () => {
  const many = Array.from({ length: 1_000 }, (_, at) => ping(`${at}`));
  expect(new ClientFrameReader().read(Buffer.concat(many))).toEqual({ ping: Buffer.from('999') });
});

test('any client input ends in a valid close code, or in none', () => {
  const bytesOf = (lengthMax: number) => uint8Array({ maxLength: lengthMax }).map((bytes) => Buffer.from(bytes));
  const anyFrame = tuple(nat(15), bytesOf(200), boolean());
  const plausible = anyFrame.map(([opcode, payload, last]) => clientFrame(opcode, payload, { last }));
  // Mostly plausible frames: other bytes are refused at the first head.
  const part = oneof({ weight: 3, arbitrary: plausible }, { weight: 1, arbitrary: bytesOf(40) });
  const pieceBytes = array(integer({ min: 1, max: 60 }), { minLength: 1 });
  assert(
    property(array(part, { minLength: 1, maxLength: 10 }), pieceBytes, (parts, pieces) => {
      const incoming = new ClientFrameReader();
      const bytes = Buffer.concat(parts);
      for (let [from, piece] = [0, 0]; from < bytes.length; piece++) {
        const until = from + requireValue(pieces[piece % pieces.length]);
        const { close: code } = incoming.read(bytes.subarray(from, until));
        if (code !== undefined)
          expect(code === 1000 || (code > 1000 && code < 5000 && ![1005, 1006, 1015].includes(code))).toBe(true);
        from = until;
      }
    }),
    { numRuns: 2_000, seed: 5 },
  );
});
