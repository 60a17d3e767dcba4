import type { Random } from '@cluster-apiserver/base';
import type { Case, RawCase } from './case.ts';
import { bytesOf, choose, chooseSome } from './choose.ts';
import {
  continuation,
  data,
  type Field,
  frame,
  frames,
  goaway,
  headers,
  literals,
  ping,
  preface,
  settings,
} from '@cluster-apiserver/testkit/http2-frames';
import { hostileRequest, type Request } from './requests.ts';

type Make = (random: Random, token: string) => Case;

const raw = (kind: string, pieces: readonly Buffer[], end: RawCase['end'] = 'shut'): RawCase => ({
  kind,
  over: 'h2',
  pieces: [preface, settings(), ...pieces],
  end,
  method: undefined,
});

/** Several concurrent well-framed requests with hostile content. */
const polite: Make = (random, token) => ({
  kind: 'requests over HTTP/2',
  over: 'h2 client',
  requests: Array.from({ length: 1 + random.below(4) }, () => hostileRequest(random, token)),
});

/** Request headers with a field that HTTP/2 forbids. */
const badHeaders: Make = (random, token) => {
  const fields = [...fieldsOf(hostileRequest(random, token))];
  for (const field of chooseSome(random, badFields, 3)) fields.splice(random.below(fields.length + 1), 0, field);
  if (random.below(3) === 0) fields.splice(random.below(Math.min(4, fields.length)), 1);
  return raw('bad headers over HTTP/2', [headers(1, literals(fields), choose(random, [4, 5]))]);
};

const badFrames: Make = (random, token) => {
  const request = hostileRequest(random, token);
  const block = literals(fieldsOf(request));
  const opened = headers(1, block, request.body ? 4 : 5);
  return raw('bad frames', [
    ...(random.below(4) === 0 ? [] : [opened]),
    ...chooseSome(random, badFrameSequences, 4).map((make) => make(block)),
  ]);
};

const badCompression: Make = (random) =>
  raw('bad header compression', [headers(1, choose(random, [...badBlocks, bytesOf(random, 40)]), 5)]);

const changedFrames: Make = (random, token) => {
  const request = hostileRequest(random, token);
  const whole = Buffer.concat([
    headers(1, literals(fieldsOf(request)), request.body ? 4 : 5),
    ...(request.body ? [data(1, request.body.bytes.subarray(0, 16_000), 1)] : []),
  ]);
  for (let changes = 1 + random.below(4); changes > 0; changes -= 1)
    whole[random.below(whole.length)] = random.below(256);
  return raw('changed bytes over HTTP/2', [whole]);
};

/** Many streams that are opened and reset at once, or never used. */
const streams: Make = (random, token) => {
  const block = literals(fieldsOf({ ...hostileRequest(random, token), method: 'GET', body: undefined }));
  const ids = Array.from({ length: 50 + random.below(300) }, (_, at) => at * 2 + 1);
  const reset = random.below(2) === 0;
  return raw(
    'many streams',
    [
      Buffer.concat(
        ids.map((id) =>
          Buffer.concat([
            headers(id, block, reset ? 5 : 4),
            ...(reset ? [frame(frames.reset, 0, id, Buffer.from([0, 0, 0, 8]))] : []),
          ]),
        ),
      ),
    ],
    choose(random, ['shut', 'tear']),
  );
};

/** A body that differs from its declared length, or is unfinished. */
const badBodies: Make = (random, token) => {
  const request = hostileRequest(random, token);
  const content = request.body?.bytes.subarray(0, 16_000) ?? Buffer.from('{}');
  const declared = choose(random, [content.length, content.length + 1, Math.max(0, content.length - 1), 0, 2 ** 40]);
  const fields: Field[] = [
    ...fieldsOf({ ...request, method: choose(random, ['POST', 'PUT', 'PATCH']) }),
    ['content-length', `${declared}`],
  ];
  return raw(
    'bad bodies over HTTP/2',
    [headers(1, literals(fields), 4), data(1, content, choose(random, [0, 1]))],
    choose(random, ['shut', 'shut', 'tear']),
  );
};

const noise: Make = (random) => ({
  kind: 'noise over HTTP/2',
  over: 'h2',
  pieces: [choose(random, [Buffer.alloc(0), preface]), bytesOf(random, 1 + random.below(500))],
  end: 'shut',
  method: undefined,
});

export const http2Cases: readonly Make[] = [
  polite,
  polite,
  polite,
  polite,
  badHeaders,
  badHeaders,
  badFrames,
  badFrames,
  badCompression,
  changedFrames,
  streams,
  badBodies,
  noise,
];

const fieldsOf = ({ method, target, headers, body }: Request): Field[] => [
  [':method', method],
  [':path', target],
  [':scheme', 'https'],
  [':authority', '127.0.0.1'],
  ...headers,
  ...(body ? ([['content-type', body.contentType]] as const) : []),
];

const badFields: readonly Field[] = [
  ...([
    [':method', 'GET'],
    [':method', ''],
    [':method', 'CONNECT'],
    [':path', ''],
    [':path', '*'],
    [':path', 'x'],
    [':path', '/a b\r\nX: y'],
    [':status', '200'],
    [':protocol', 'websocket'],
    [':nonsense', 'x'],
  ] as const),
  ...([
    ['connection', 'close'],
    ['transfer-encoding', 'chunked'],
    ['upgrade', 'h2c'],
    ['keep-alive', '1'],
    ['te', 'gzip'],
    ['Upper-Case', 'x'],
    ['', 'x'],
    ['a b', 'x'],
    ['x', 'a\r\nb: c'],
    ['x', '\0'],
    ['x', ' y '],
  ] as const),
  ...([
    ['content-length', '5'],
    ['content-length', '-1'],
    ['content-length', '99999999999999999999'],
    ['host', 'other'],
    ['expect', '100-continue'],
    ['expect', 'x'],
    ['cookie', 'a=b'],
    [':scheme', 'gopher'],
    ['x', 'y'.repeat(20_000)],
  ] as const),
];

const badBlocks = [
  Buffer.from([0x80]), // index 0
  Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]), // far beyond the table
  Buffer.from([0x3f, 0xe1, 0xff, 0xff, 0x7f]), // a table larger than allowed
  Buffer.from([0x00, 0x85, 0xff, 0xff, 0xff, 0xff, 0xff]), // an invalid Huffman code
  Buffer.from([0x00, 0x7f, 0xff]), // a truncated integer
  Buffer.from([0x82, 0x84, 0x87]), // no authority, and an unknown path
  Buffer.alloc(0),
];

const one = Buffer.from([0, 0, 0, 1]);
const badFrameSequences: readonly ((block: Buffer) => Buffer)[] = [
  () => data(1, Buffer.from('{}'), 0),
  () => data(7, Buffer.from('x'), 1),
  () => data(0, Buffer.from('x'), 0),
  () => frame(frames.data, 8, 1, Buffer.from([200, 1, 2])), // more padding than the frame has
  (block) => headers(2, block, 5),
  (block) => headers(0, block, 5),
  (block) => headers(5, block, 0), // unfinished
  (block) => Buffer.concat([headers(9, block.subarray(0, 10), 0), continuation(9, block.subarray(10), 4)]),
  (block) =>
    Buffer.concat([headers(11, block, 0), ...new Array<Buffer>(300).fill(continuation(11, Buffer.alloc(0), 0))]),
  (block) =>
    Buffer.concat([
      headers(13, block, 0),
      ...new Array<Buffer>(12).fill(continuation(13, literals([['x', 'y'.repeat(12_000)]]), 0)),
    ]),
  () => continuation(1, Buffer.alloc(3), 4),
  () => frame(frames.windowUpdate, 0, 0, Buffer.alloc(4)),
  () => frame(frames.windowUpdate, 0, 1, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
  () => frame(frames.windowUpdate, 0, 0, Buffer.from([0x7f, 0xff, 0xff, 0xff])),
  () => frame(frames.windowUpdate, 0, 0, Buffer.alloc(3)),
  () => frame(frames.settings, 0, 0, Buffer.alloc(5)),
  () => frame(frames.settings, 1, 0, Buffer.alloc(6)),
  () => frame(frames.settings, 0, 0, Buffer.from([0, 4, 0xff, 0xff, 0xff, 0xff])), // an oversized window
  () => frame(frames.settings, 0, 0, Buffer.from([0, 4, 0, 0, 0, 0])), // an empty window
  () => frame(frames.settings, 0, 0, Buffer.from([0, 5, 0, 0, 0, 1])), // frames of one byte
  () => Buffer.concat(new Array<Buffer>(500).fill(settings())),
  () => Buffer.concat(new Array<Buffer>(500).fill(ping(Buffer.alloc(8)))),
  () => ping(Buffer.alloc(7)),
  () => frame(frames.reset, 0, 1, Buffer.from([0, 0, 0, 8])),
  () => frame(frames.reset, 0, 101, Buffer.from([0, 0, 0, 8])),
  () => frame(frames.priority, 0, 1, Buffer.concat([one, Buffer.from([255])])), // depends on itself
  () => frame(frames.pushPromise, 4, 1, one),
  () => goaway(),
  () => frame(0xee, 0xff, 3, Buffer.from('unknown')),
  () => frame(frames.data, 0, 1, Buffer.alloc(17_000)), // larger than allowed
];
