import type { Random } from '@cluster-apiserver/base';
import type { RawCase } from './case.ts';
import { bytesOf, choose, chooseSome } from './choose.ts';
import { hostileRequest, type Request } from './requests.ts';

type Make = (random: Random, token: string) => RawCase;

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');

const raw = (kind: string, pieces: readonly Buffer[], method?: string, end: RawCase['end'] = 'shut'): RawCase => ({
  kind,
  over: 'http/1.1',
  pieces,
  end,
  method,
});

/** One well-framed request. */
const single: Make = (random, token) => {
  const request = hostileRequest(random, token);
  return raw('a request', [encodeRequest(random, request)], request.method);
};

/** Not HEAD: its response cannot be distinguished from a truncated one. */
const notHead = (random: Random, token: string): Request => {
  const request = hostileRequest(random, token);
  return request.method === 'HEAD' ? { ...request, method: 'GET' } : request;
};

/** Not every request gets a response: the first rejected one ends the connection. */
const pipelined: Make = (random, token) =>
  raw('pipelined requests', [
    Buffer.concat(Array.from({ length: 2 + random.below(6) }, () => encodeRequest(random, notHead(random, token)))),
  ]);

/** Truncated at any position, with or without a closing message. */
const truncated: Make = (random, token) => {
  const whole = Buffer.concat(pipelined(random, token).pieces);
  return raw('cut off', [whole.subarray(0, random.below(whole.length))], undefined, choose(random, ['shut', 'tear']));
};

/** In pieces, and reset after the last one. */
const resetInPieces: Make = (random, token) => {
  const whole = encodeRequest(random, hostileRequest(random, token));
  const at = random.below(whole.length);
  return raw('torn in the midst', [whole.subarray(0, at), whole.subarray(at)], undefined, 'tear');
};

const changedBytes: Make = (random, token) => {
  const whole = Buffer.from(encodeRequest(random, notHead(random, token)));
  for (let changes = 1 + random.below(8); changes > 0; changes -= 1)
    whole[random.below(whole.length)] = random.below(256);
  return raw('changed bytes', [whole]);
};

const noise: Make = (random) => raw('noise', [bytesOf(random, 1 + random.below(2_000))]);

const notTls: Make = (random, token) => ({
  kind: 'no TLS',
  over: 'tcp',
  pieces: [
    choose(random, [
      bytesOf(random, 300),
      encodeRequest(random, hostileRequest(random, token)),
      Buffer.from([0x16, 3, 1, 0xff, 0xff, 1, 0, 0, 0]),
    ]),
  ],
  end: choose(random, ['shut', 'tear']),
  method: undefined,
});

/** A message with ambiguous framing, followed by a request that only one of two parsers would see. */
const ambiguousFraming: Make = (random, token) => {
  const known = `Authorization: Bearer ${token}\r\n`;
  const hidden = `DELETE /api/v1/namespaces/hostile/serviceaccounts HTTP/1.1\r\nHost: x\r\n${known}\r\n`;
  const head = `${choose(random, requestLines)}${choose(random, hosts)}${known}${chooseSome(random, framings, 3).join('')}\r\n`;
  return raw('framing', [
    latin1(`${choose(random, leads)}${head}${choose(random, contents)()}${random.below(2) === 0 ? hidden : ''}`),
  ]);
};

export const http1Cases: readonly Make[] = [
  ...[single, single, single, single, single, single, single, single, pipelined, pipelined],
  ...[
    truncated,
    truncated,
    resetInPieces,
    changedBytes,
    changedBytes,
    ambiguousFraming,
    ambiguousFraming,
    ambiguousFraming,
    noise,
    notTls,
  ],
];

export function encodeRequest(random: Random, { method, target, headers, body }: Request): Buffer {
  const chunked = body !== undefined && random.below(4) === 0;
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: 127.0.0.1',
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body
      ? [
          `Content-Type: ${body.contentType}`,
          chunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.bytes.length}`,
        ]
      : []),
  ];
  const content = body === undefined ? '' : chunked ? inChunks(random, body.bytes) : body.bytes;
  return Buffer.concat([
    latin1(`${lines.join('\r\n')}\r\n\r\n`),
    typeof content === 'string' ? latin1(content) : content,
  ]);
}

function inChunks(random: Random, bytes: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const piece = bytes.subarray(at, at + 1 + random.below(5_000));
    chunks.push(
      latin1(`${piece.length.toString(16)}${choose(random, ['', '', ';a=b', ';"'])}\r\n`),
      piece,
      latin1('\r\n'),
    );
    at += piece.length;
  }
  return Buffer.concat([...chunks, latin1(choose(random, ['0\r\n\r\n', '0\r\nX-Trailer: a\r\n\r\n', '000\r\n\r\n']))]);
}

const leads = ['', '', '', '', '\r\n', '\r\n'.repeat(50), ' ', '\0', '\n\n'];

const target = '/api/v1/namespaces/hostile/serviceaccounts';
const requestLines = [
  ...[
    `POST ${target} HTTP/1.1\r\n`,
    `POST ${target} HTTP/1.1\r\n`,
    `GET ${target} HTTP/1.1\r\n`,
    `PUT ${target}/n1 HTTP/1.1\r\n`,
    `POST ${target} HTTP/1.0\r\n`,
    `POST ${target} HTTP/1.2\r\n`,
  ],
  ...[
    `GET ${target} HTTP/2.0\r\n`,
    `GET ${target}\r\n`,
    `GET  ${target} HTTP/1.1\r\n`,
    `GET ${target} HTTP/1.1 \r\n`,
    `GET ${target} http/1.1\r\n`,
    `GET ${target} HTTP/1.1\n`,
    `GET ${target} HTTP/1.1\r`,
  ],
  ...[
    `get ${target} HTTP/1.1\r\n`,
    `GET https://x${target} HTTP/1.1\r\n`,
    'OPTIONS * HTTP/1.1\r\n',
    'CONNECT x:443 HTTP/1.1\r\n',
    'PRI * HTTP/2.0\r\n',
    `FOO ${target} HTTP/1.1\r\n`,
    'GET x HTTP/1.1\r\n',
    `GET ${target}#f HTTP/1.1\r\n`,
  ],
  ...[
    `GET /${'a'.repeat(70_000)} HTTP/1.1\r\n`,
    'GET / RTSP/1.0\r\n',
    'SOURCE / ICE/1.0\r\n',
    `GET\t${target}\tHTTP/1.1\r\n`,
  ],
];

const hosts = [
  'Host: x\r\n',
  'Host: x\r\n',
  'Host: x\r\n',
  'Host: x\r\n',
  '',
  'Host: x\r\nHost: y\r\n',
  'Host:\r\n',
  'Host: a b@c/d\r\n',
  'host : x\r\n',
  ' Host: x\r\n',
];

const framings = [
  ...[
    'Content-Length: 5\r\n',
    'Content-Length: 5\r\nContent-Length: 5\r\n',
    'Content-Length: 5\r\nContent-Length: 6\r\n',
    'Content-Length: 5, 5\r\n',
    'Content-Length: +5\r\n',
    'Content-Length: -5\r\n',
  ],
  ...[
    'Content-Length: 0x5\r\n',
    'Content-Length: 5 \r\n',
    'Content-Length:\r\n',
    'Content-Length: 99999999999999999999\r\n',
    'Content-Length: 9007199254740993\r\n',
    'Content-Length : 5\r\n',
    'Content_Length: 5\r\n',
  ],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: chunked\r\n',
    'Transfer-Encoding: Chunked\r\n',
    'Transfer-Encoding: xchunked\r\n',
    'Transfer-Encoding: chunked, identity\r\n',
    'Transfer-Encoding: gzip, chunked\r\n',
  ],
  ...[
    'Transfer-Encoding: identity\r\n',
    'Transfer-Encoding:\tchunked\r\n',
    'Transfer-Encoding : chunked\r\n',
    'Transfer-Encoding:\r\n chunked\r\n',
    'Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n',
    'Transfer-Encoding: \x0bchunked\r\n',
  ],
  ...[
    'Expect: 100-continue\r\n',
    'Expect: 200-ok\r\n',
    'Expect: 100-continue, x\r\n',
    'Connection: close\r\n',
    'Connection: keep-alive, upgrade\r\nUpgrade: websocket\r\n',
    'Connection: upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n',
  ],
  ...[
    'Connection: transfer-encoding\r\n',
    'Connection: authorization\r\n',
    'Trailer: content-length\r\n',
    'TE: trailers\r\n',
    'X: a\0b\r\n',
    'X: a\rb\r\n',
    'X: a\nY: b\r\n',
    'no colon\r\n',
    ': no name\r\n',
    'X\r\n',
    ' folded\r\n',
    '\x80: x\r\n',
  ],
  ...['X: y\r\n'.repeat(1_100), `X: ${'y'.repeat(70_000)}\r\n`, 'X:\r\n'.repeat(2_000)],
];

const contents: readonly (() => string)[] = [
  ...[
    '',
    '{}',
    '5\r\nhello\r\n0\r\n\r\n',
    '5\r\nhello\r\n0\r\n\r\n',
    '5\nhello\n0\n\n',
    'hello',
    'hell',
    '0\r\n\r\n',
    '0\r\nContent-Length: 9\r\nHost: y\r\n\r\n',
    'FFFFFFFFFFFFFFFFF\r\nx\r\n',
  ],
  ...[
    '-1\r\nx\r\n',
    '0x5\r\nhello\r\n',
    '5 \r\nhello\r\n',
    '5\r\nhelloX',
    ' 5\r\nhello\r\n0\r\n\r\n',
    '7fffffff\r\nx',
    '5;a="\r\nhello\r\n0\r\n\r\n',
    '5\r\nhello\r\n0\r\n: x\r\n\r\n',
    '\r\n\r\n',
    'g\r\n',
  ],
]
  .map((content) => () => content)
  .concat([
    () => `5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`,
    () => `${'1\r\nx\r\n'.repeat(3_000)}0\r\n\r\n`,
    () => `0\r\n${'X: y\r\n'.repeat(3_000)}\r\n`,
  ]);
