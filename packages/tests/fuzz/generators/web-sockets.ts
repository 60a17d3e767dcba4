import type { Random } from '@cluster-apiserver/base';
import { clientFrame } from '@cluster-apiserver/testkit/web-socket-frames';
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

const close = (payload: Buffer): Buffer => clientFrame(8, payload);
const lengths = [0, 1, 125, 126, 127, 65_535, 65_536];

const messageForms: readonly ((random: Random) => Buffer)[] = [
  (random) => clientFrame(choose(random, [1, 2]), Buffer.alloc(choose(random, lengths), 'x')),
  () => clientFrame(9, Buffer.from('ping')),
  () => Buffer.concat(new Array<Buffer>(200).fill(clientFrame(9, Buffer.alloc(125)))),
  () => clientFrame(10),
  () => clientFrame(9, Buffer.alloc(126)), // an oversized control frame
  () => clientFrame(9, undefined, { last: false }), // a fragmented control frame
  () => clientFrame(0, Buffer.from('x')), // a continuation without a start
  () => clientFrame(1, Buffer.from('x'), { last: false }),
  (random) => clientFrame(3 + random.below(5)),
  (random) => clientFrame(11 + random.below(5)),
  (random) => clientFrame(1, undefined, { reserved: 1 + random.below(7) }),
  () => clientFrame(1, Buffer.from('x'), { masked: false }),
  () => clientFrame(1, Buffer.from([0xff, 0xc0, 0x80])),
  (random) => clientFrame(1, undefined, { declared: choose(random, [2 ** 31, 2 ** 53, -1, 70_000]), lengthBits: 64 }),
  (random) => clientFrame(2, Buffer.from('x'), { lengthBits: choose(random, [16, 64]) }), // a length field that is longer than necessary
  (random) => {
    const code = Buffer.alloc(2);
    code.writeUInt16BE(choose(random, [0, 999, 1_000, 1_001, 1_004, 1_005, 1_006, 1_015, 2_999, 3_000, 4_999, 65_535]));
    return close(code);
  },
  () => close(Buffer.from([3])),
  () => close(Buffer.from([3, 0xe8, 0xff, 0xfe])),
  (random) => bytesOf(random, 1 + random.below(100)),
];
