import type { Random } from '@cluster-apiserver/base';
import { bytesOf, choose, chooseSome } from '../../test/hostile/choose.ts';
import type { Generator } from './generator.ts';
import { collectionPath } from './targets.ts';

const bearer = (token: string): string =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;

const oddHeaders = [
  ...[
    'Sec-WebSocket-Version: 8',
    'Sec-WebSocket-Version: 13, 8',
    'Sec-WebSocket-Key: short',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  ],
  ...['Upgrade: h2c', 'Upgrade: websocket, x', 'Connection: close', 'Content-Length: 3', 'Transfer-Encoding: chunked'],
  ...[
    'Sec-WebSocket-Protocol: ,',
    'Sec-WebSocket-Protocol: a b',
    'Sec-WebSocket-Protocol: x, x',
    `Sec-WebSocket-Protocol: ${bearer('x')}`,
  ],
  ...[
    'Sec-WebSocket-Extensions: permessage-deflate',
    'Origin: https://elsewhere.example',
    'Origin: null',
    'Expect: 100-continue',
  ],
];

/** A watch over WebSocket, with valid and invalid client messages. */
export const webSocket: Generator = (random, { token }) => {
  const lines = [
    `GET ${collectionPath(random)}?watch=1&timeoutSeconds=1${choose(random, ['', '&resourceVersion=0', '&resourceVersion=x'])} HTTP/1.1`,
    'Host: 127.0.0.1',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  ];
  lines.push(
    random.below(2) === 0
      ? `Authorization: Bearer ${token}`
      : `Sec-WebSocket-Protocol: ${choose(random, ['base64.binary.k8s.io', 'x', 'binary.k8s.io'])}, ${bearer(token)}`,
  );
  if (random.below(3) === 0) lines.splice(1 + random.below(lines.length), random.below(2), choose(random, oddHeaders));
  return {
    form: 'web-socket',
    opening: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'),
    messages: chooseSome(random, messageForms, 6).map((make) => make(random)),
  };
};

interface FrameForm {
  readonly opcode: number;
  readonly payload?: Buffer;
  readonly fin?: boolean;
  readonly reserved?: number;
  readonly masked?: boolean;
  /** The length that the frame declares. */
  readonly declared?: number;
  /** Size of the length field, even if a smaller one would do. */
  readonly lengthBits?: 7 | 16 | 64;
}

function webSocketFrame({
  opcode,
  payload = Buffer.alloc(0),
  fin = true,
  reserved = 0,
  masked = true,
  declared = payload.length,
  lengthBits = declared < 126 ? 7 : declared < 65_536 ? 16 : 64,
}: FrameForm): Buffer {
  const head = Buffer.alloc(2 + (lengthBits === 7 ? 0 : lengthBits / 8));
  head[0] = (fin ? 128 : 0) | (reserved << 4) | opcode;
  head[1] = (masked ? 128 : 0) | (lengthBits === 7 ? declared & 127 : lengthBits === 16 ? 126 : 127);
  if (lengthBits === 16) head.writeUInt16BE(declared & 0xffff, 2);
  if (lengthBits === 64) head.writeBigUInt64BE(BigInt.asUintN(64, BigInt(declared)), 2);
  if (!masked) return Buffer.concat([head, payload]);
  const mask = Buffer.from([1, 2, 3, 4]);
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}

const close = (payload: Buffer): Buffer => webSocketFrame({ opcode: 8, payload });
const lengths = [0, 1, 125, 126, 127, 65_535, 65_536];

const messageForms: readonly ((random: Random) => Buffer)[] = [
  (random) => webSocketFrame({ opcode: choose(random, [1, 2]), payload: Buffer.alloc(choose(random, lengths), 'x') }),
  () => webSocketFrame({ opcode: 9, payload: Buffer.from('ping') }),
  () => Buffer.concat(new Array<Buffer>(200).fill(webSocketFrame({ opcode: 9, payload: Buffer.alloc(125) }))),
  () => webSocketFrame({ opcode: 10 }),
  () => webSocketFrame({ opcode: 9, payload: Buffer.alloc(126) }), // an oversized control frame
  () => webSocketFrame({ opcode: 9, fin: false }), // a fragmented control frame
  () => webSocketFrame({ opcode: 0, payload: Buffer.from('x') }), // a continuation without a start
  () => webSocketFrame({ opcode: 1, payload: Buffer.from('x'), fin: false }),
  (random) => webSocketFrame({ opcode: 3 + random.below(5) }),
  (random) => webSocketFrame({ opcode: 11 + random.below(5) }),
  (random) => webSocketFrame({ opcode: 1, reserved: 1 + random.below(7) }),
  () => webSocketFrame({ opcode: 1, payload: Buffer.from('x'), masked: false }),
  () => webSocketFrame({ opcode: 1, payload: Buffer.from([0xff, 0xc0, 0x80]) }),
  (random) => webSocketFrame({ opcode: 1, declared: choose(random, [2 ** 31, 2 ** 53, -1, 70_000]), lengthBits: 64 }),
  (random) => webSocketFrame({ opcode: 2, payload: Buffer.from('x'), lengthBits: choose(random, [16, 64]) }), // a length field that is longer than necessary
  (random) => {
    const code = Buffer.alloc(2);
    code.writeUInt16BE(choose(random, [0, 999, 1_000, 1_001, 1_004, 1_005, 1_006, 1_015, 2_999, 3_000, 4_999, 65_535]));
    return close(code);
  },
  () => close(Buffer.from([3])),
  () => close(Buffer.from([3, 0xe8, 0xff, 0xfe])),
  (random) => bytesOf(random, 1 + random.below(100)),
];
