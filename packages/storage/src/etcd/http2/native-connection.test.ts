import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import { until } from '@cluster-apiserver/testkit/until';
import { createServer as createTlsServer } from 'node:tls';
import { serverUsage, testAuthority } from '../../../../certificates/test/test-authority.ts';
import { frame, type FramePeer, framePeer } from '../../../test/frame-peer.ts';
import type { Connection, Stream, StreamListener } from './connection.ts';
import { connectNatively, type ConnectOptions } from './native-connection.ts';
import { flags, frameHead, frameTypes, numberFrame, preface, settingNumbers, settingsFrame } from './frames.ts';
import { encodeHeaderBlock } from './header-block.ts';

const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0).toReversed()) close();
});

/** Node's HTTP/2, which is somebody else's, on the other side. */
async function peer(
  settings: NonNullable<Parameters<typeof createServer>[0]>['settings'],
  answer: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => unknown,
): Promise<{ connection: Connection; server: Http2Server }> {
  // Its default limit of 10 MB would refuse these concurrent requests.
  const server = createServer({ settings, maxSessionMemory: 1_000 });
  server.on('session', (session) => closings.push(() => session.destroy()));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    answer(stream, headers);
  });
  return { connection: await connectTo(server), server };
}

async function connectTo(server: Server): Promise<Connection> {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const connection = connectNatively(
    `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    undefined,
    systemClock,
  );
  closings.push(
    () => server.close(),
    () => connection.destroy(),
  );
  return connection;
}

const questionHeaders = encodeHeaderBlock([
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/'],
  [':authority', 'peer'],
]);

interface Asked {
  readonly stream: Stream;
  readonly headers: ReadonlyMap<string, string>[];
  readonly body: Promise<Buffer>;
}

function ask(connection: Connection, question: Buffer): Asked {
  const headers: ReadonlyMap<string, string>[] = [];
  const pieces: Buffer[] = [];
  const { promise: body, resolve, reject } = Promise.withResolvers<Buffer>();
  const listener: StreamListener = {
    onHeaders: (told) => headers.push(told),
    onData: (piece) => pieces.push(Buffer.from(piece)),
    onEnd: () => resolve(Buffer.concat(pieces)),
    onLost: (kind, cause) => reject(Object.assign(new Error(kind), { cause })),
  };
  const stream = connection.open(questionHeaders, listener);
  stream.send([question], true);
  return { stream, headers, body };
}

const fateOf = ({ body }: Asked): Promise<string> => body.then(String, ({ message }: Error) => message);

async function readAll(stream: ServerHttp2Stream): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of stream) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

test('decodes the headers of another implementation: Huffman-coded, indexed and evicted', async () => {
  const random = seededRandom(11);
  const everyLetter = String.fromCharCode(
    ...Array.from({ length: 256 }, (_, code) => code).filter((code) => code > 32 && code !== 127),
  );
  const names = Array.from({ length: 40 }, (_, n) => `x-name-${n}`);
  const text = (): string => {
    const start = random.below(everyLetter.length);
    return everyLetter.slice(start, start + 1 + random.below(60)).repeat(1 + random.below(4));
  };
  const known = names.map(text);
  const sent: Record<string, string>[] = [];
  const { connection } = await peer({}, (stream) => {
    const chosen = names.filter(() => random.below(3) === 0);
    sent.push(
      Object.fromEntries(chosen.map((name, n) => [name, random.below(2) === 0 ? text() : (known[n] as string)])),
    );
    stream.respond({ ':status': 200, ...sent.at(-1) });
    stream.end('answer');
  });
  for (let n = 0; n < 200; n++) {
    const asked = ask(connection, Buffer.from('question'));
    expect(String(await asked.body)).toBe('answer');
    expect(Object.fromEntries(asked.headers[0] ?? [])).toMatchObject({ ':status': '200', ...sent[n] });
  }
});

test('a header block of several frames is decoded', async () => {
  const long = 'x'.repeat(40_000);
  const { connection } = await peer({}, (stream) => {
    stream.respond({ ':status': 200, long });
    stream.end();
  });
  const asked = ask(connection, Buffer.from('question'));
  await asked.body;
  expect(asked.headers[0]?.get('long')).toBe(long);
});

test('a large request passes small windows, and does not delay small ones', async () => {
  const large = Buffer.alloc(1_500_000, 'large');
  const { connection } = await peer({ initialWindowSize: 1_000 }, async (stream) => {
    const question = await readAll(stream);
    stream.respond({ ':status': 200 });
    stream.end(question.length < 100 ? question : String(question.equals(large)));
  });
  const order: string[] = [];
  const largeBody = ask(connection, large).body.then((body) => order.push(String(body)));
  const small = Array.from({ length: 20 }, (_, n) =>
    ask(connection, Buffer.from(`small ${n}`)).body.then((body) => order.push(String(body))),
  );
  await Promise.all([largeBody, ...small]);
  expect(order.at(-1)).toBe('true');
  expect(order.slice(0, -1).sort()).toEqual(Array.from({ length: 20 }, (_, n) => `small ${n}`).sort());
});

test('a changed initial window size is respected', async () => {
  const { connection } = await peer({ initialWindowSize: 10 }, async (stream) => {
    stream.session?.settings({ initialWindowSize: 100_000 });
    const question = await readAll(stream);
    stream.session?.settings({ initialWindowSize: 7 });
    stream.respond({ ':status': 200 });
    stream.end(String(question.length));
  });
  for (let n = 0; n < 5; n++) expect(String(await ask(connection, Buffer.alloc(200_000)).body)).toBe('200000');
});

test('many large concurrent responses arrive complete', async () => {
  const answer = Buffer.alloc(9_000_000, 'an answer');
  const { connection } = await peer({}, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end(answer);
  });
  const bodies = await Promise.all(Array.from({ length: 6 }, () => ask(connection, Buffer.from('question')).body));
  for (const body of bodies) expect(body.equals(answer)).toBe(true);
});

test('no more streams are open than the peer allows, and one cancelled while waiting is never sent', async () => {
  const open: ServerHttp2Stream[] = [];
  let openMost = 0;
  let heard = 0;
  const { connection } = await peer({ maxConcurrentStreams: 2 }, (stream) => {
    heard++;
    open.push(stream);
    openMost = Math.max(openMost, open.length);
  });
  const answerOne = (): void => {
    const stream = open.shift();
    stream?.respond({ ':status': 200 });
    stream?.end('answer');
  };
  // The first response arrives after the settings.
  const first = ask(connection, Buffer.from('question'));
  await until('the first question', () => open.length === 1 || undefined);
  answerOne();
  await first.body;
  const asked = Array.from({ length: 10 }, () => ask(connection, Buffer.from('question')));
  await until('two questions', () => open.length === 2 || undefined);
  expect(asked.map(({ stream }) => stream.isSent)).toEqual([true, true, ...Array.from({ length: 8 }, () => false)]);
  asked[5]?.stream.cancel();
  for (let answered = 0; answered < 9; answered++) {
    await until('a question', () => open.length > 0 || undefined);
    answerOne();
  }
  const others = asked.filter((_, n) => n !== 5);
  expect(await Promise.all(others.map(fateOf))).toEqual(others.map(() => 'answer'));
  expect([openMost, heard]).toEqual([2, 10]);
});

test('a response before the end of the request ends the request', async () => {
  let heardBytes = 0;
  const { connection } = await peer({ initialWindowSize: 10 }, (stream) => {
    stream.once('data', (piece: Buffer) => {
      heardBytes += piece.length;
      stream.pause();
      stream.respond({ ':status': 200 });
      stream.end('enough');
    });
  });
  for (let n = 0; n < 3; n++) expect(String(await ask(connection, Buffer.alloc(100_000)).body)).toBe('enough');
  expect(heardBytes).toBeLessThan(50_000);
});

test('after GOAWAY new requests are unsent, and open ones get their responses', async () => {
  const open: ServerHttp2Stream[] = [];
  const { connection } = await peer({}, (stream) => {
    open.push(stream);
  });
  const first = ask(connection, Buffer.from('question'));
  await until('the question', () => open.length === 1 || undefined);
  const [stream] = open;
  stream?.session?.goaway(0, stream.id);
  await until('the goodbye', () => !connection.isUsable || undefined);
  stream?.respond({ ':status': 200 });
  stream?.end('answer');
  expect(await fateOf(first)).toBe('answer');
});

/** A peer that sends invalid bytes as soon as it has received a request. */
async function rogue(...sayings: readonly Buffer[]): Promise<{ connection: Connection; open: ReadonlySet<Socket> }> {
  const open = new Set<Socket>();
  const server = createTcpServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket)).on('error', () => {});
    socket.once('data', () => {
      for (const saying of sayings) socket.write(saying);
    });
  });
  closings.push(() => {
    for (const socket of open) socket.destroy();
  });
  return { connection: await connectTo(server), open };
}

const greeting = settingsFrame([]);
const okHeader = encodeHeaderBlock([[':status', '200']]);
const { headers, data, continuation } = frameTypes;

test.each<{ what: string; says: Buffer[]; fault: string }>([
  { what: 'no frames at all', says: [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], fault: 'limit is 16384' },
  { what: 'its own preface', says: [preface], fault: 'limit is 16384' },
  {
    what: 'something before its settings',
    says: [frame(frameTypes.ping, 0, 0, Buffer.alloc(8))],
    fault: 'is not SETTINGS',
  },
  { what: 'a frame that is too long', says: [greeting, frameHead(data, 0, 1, 16_385)], fault: '16385 bytes' },
  { what: 'broken settings', says: [frame(frameTypes.settings, 0, 0, Buffer.alloc(5))], fault: 'broken settings' },
  {
    what: 'a window that is too large',
    says: [settingsFrame([[settingNumbers.initialWindowSize, 2 ** 31]])],
    fault: 'a window of',
  },
  {
    what: 'windows that add up too large',
    says: [greeting, numberFrame(frameTypes.windowUpdate, 0, 2 ** 31 - 1)],
    fault: 'too large',
  },
  { what: 'data for a stream of its own', says: [greeting, frame(data, 0, 2)], fault: 'stream 2 was never opened' },
  { what: 'data for no stream', says: [greeting, frame(data, 0, 0)], fault: 'stream 0 was never opened' },
  { what: 'headers of a stream to come', says: [greeting, frame(headers, 4, 3, okHeader)], fault: 'stream 3' },
  { what: 'a push', says: [greeting, frame(frameTypes.pushPromise, 4, 1, Buffer.alloc(4))], fault: 'pushes' },
  {
    what: 'padding longer than its frame',
    says: [greeting, frame(data, flags.padded, 1, Buffer.from([9, 1]))],
    fault: 'more padding',
  },
  { what: 'padding without a length', says: [greeting, frame(data, flags.padded, 1)], fault: 'more padding' },
  { what: 'a reset without a code', says: [greeting, frame(frameTypes.resetStream, 0, 1)], fault: 'too short' },
  { what: 'a goodbye without content', says: [greeting, frame(frameTypes.goAway, 0, 0)], fault: 'too short' },
  {
    what: 'the rest of a header',
    says: [greeting, frame(continuation, 4, 1, okHeader)],
    fault: 'without a header block',
  },
  {
    what: 'something amid a header',
    says: [greeting, frame(headers, 0, 1, okHeader), frame(data, 0, 1)],
    fault: 'without its continuation',
  },
  {
    what: 'a header without end',
    says: [greeting, frame(headers, 0, 1), ...Array.from({ length: 8_000 }, () => frame(continuation, 0, 1))],
    fault: 'more than 65536 bytes',
  },
  {
    what: 'a header with a field that there is not',
    says: [greeting, frame(headers, 4, 1, Buffer.from([0xff, 0x05]))],
    fault: 'refers to field 132',
  },
  {
    what: 'more than there is room for',
    says: [
      greeting,
      frame(headers, 4, 1, okHeader),
      // Everything is taken at once, so that only a stream that is paused runs out of room; see the listener.
      ...Array.from({ length: 200 }, () => frame(data, 0, 1, Buffer.alloc(16_384))),
    ],
    fault: 'more than its window',
  },
])('a member that sends $what is disconnected, and the error says why', async ({ says, fault }) => {
  const { connection, open } = await rogue(...says);
  const { promise, resolve } = Promise.withResolvers<[string, Error | undefined]>();
  const stream = connection.open(questionHeaders, {
    onHeaders: () => stream.pause(),
    onData: () => {},
    onEnd: () => resolve(['ended', undefined]),
    onLost: (kind, cause) => resolve([kind, cause]),
  });
  stream.send([Buffer.from('question')], true);
  const [kind, cause] = await promise;
  expect([kind, cause?.message]).toEqual(['lost', expect.stringContaining(fault)]);
  expect(connection.isUsable).toBe(false);
  await until('the connection to be closed', () => open.size === 0 || undefined);
});

test('unknown frames are ignored', async () => {
  const { connection } = await rogue(
    greeting,
    frame(77, 255, 9, Buffer.from('a frame of tomorrow')),
    settingsFrame([[4_711, 1]]),
    frame(headers, flags.endHeaders | flags.padded | flags.priority, 1, Buffer.from([2, 0, 0, 0, 0, 0, 0x88, 0, 0])),
    frame(data, flags.padded, 1, Buffer.from([1, 0x61, 0])),
    frame(data, 0, 1),
    frame(headers, flags.endHeaders | flags.endStream, 1, encodeHeaderBlock([['grpc-status', '0']])),
    frame(data, 0, 1, Buffer.from('of a stream that is over')),
  );
  const asked = ask(connection, Buffer.from('question'));
  expect(String(await asked.body)).toBe('a');
  expect(asked.headers.map((told) => Object.fromEntries(told))).toEqual([{ ':status': '200' }, { 'grpc-status': '0' }]);
  expect(connection.isUsable).toBe(true);
});

test('random bytes end the connection or leave it waiting, and nothing is thrown', async () => {
  const random = seededRandom(3);
  for (let round = 0; round < 60; round++) {
    const noise = Array.from({ length: 12 }, () => {
      const payload = Buffer.from(Array.from({ length: random.below(40) }, () => random.below(256)));
      return frame(random.below(11), random.below(256), random.below(3), payload);
    });
    const { connection } = await rogue(
      greeting,
      ...noise,
      frame(frameTypes.goAway, 0, 0, Buffer.alloc(8)),
      Buffer.alloc(9, 0xff),
    );
    await fateOf(ask(connection, Buffer.from('question')));
    connection.destroy();
  }
});

/** A connection to a peer that is moved by hand, which has greeted. */
function byHand(options: Partial<ConnectOptions> = {}, settings = greeting) {
  const peer = framePeer();
  const connection = connectNatively('http://peer', undefined, peer.clock, { dial: peer.dial, ...options });
  peer.turn();
  peer.turn();
  peer.send(settings);
  peer.turn();
  peer.takeReceived();
  return { peer, connection };
}
const ofType = (peer: FramePeer, type: number) => peer.takeReceived().filter((one) => one.type === type);
/** The state of a call: pending, its response, or its end. */
function watched(connection: Connection, question: Buffer): { readonly kinds: string[]; readonly stream: Stream } {
  const kinds: string[] = [];
  const stream = connection.open(questionHeaders, {
    onHeaders: () => {},
    onData: () => {},
    onEnd: () => kinds.push('ended'),
    onLost: (kind, cause) => kinds.push(`${kind}: ${cause?.message}`),
  });
  stream.send([question], true);
  return { kinds, stream };
}
const answerTo = (stream: number): Buffer => frame(headers, flags.endHeaders | flags.endStream, stream, okHeader);
const small = Buffer.from('question');

test('after a smaller header table size one table size update is sent', () => {
  const { peer, connection } = byHand();
  const blocks = (): boolean[] => ofType(peer, headers).map(({ payload }) => payload[0] === 0x20);
  const askOne = (): void => {
    watched(connection, small);
    peer.turn();
  };
  askOne();
  peer.send(settingsFrame([[settingNumbers.headerTableSize, 8_192]]));
  askOne();
  peer.send(settingsFrame([[settingNumbers.headerTableSize, 100]]));
  askOne();
  peer.send(settingsFrame([[settingNumbers.headerTableSize, 0]]));
  askOne();
  expect(blocks()).toEqual([false, false, true, false]);
});

test('another implementation without a dynamic table decodes the headers', async () => {
  const { connection } = await peer({ headerTableSize: 0 }, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end('answer');
  });
  for (let n = 0; n < 3; n++) expect(String(await ask(connection, small).body)).toBe('answer');
});

test('a connection without HTTP/2 in ALPN is closed', async () => {
  const authority = await testAuthority('authority');
  const { certificate, privateKey } = await authority.issue({
    subject: [['CN', 'peer']],
    usages: [serverUsage],
    hosts: ['127.0.0.1'],
  });
  const server = createTlsServer({ cert: certificate, key: privateKey }, (socket) => void socket.on('error', () => {}));
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connection = connectNatively(`https://127.0.0.1:${port}`, { ca: authority.certificate }, systemClock);
  closings.push(
    () => server.close(),
    () => connection.destroy(),
  );
  const { promise, resolve } = Promise.withResolvers<string>();
  connection.open(questionHeaders, {
    onHeaders: () => {},
    onData: () => {},
    onEnd: () => resolve('ended'),
    onLost: (kind, cause) => resolve(`${kind}: ${cause?.message}`),
  });
  expect(await promise).toBe('unsent: 127.0.0.1 did not agree to HTTP/2 in its TLS handshake (ALPN)');
});

test.each([
  ['too large', 2 ** 31 - 1, 3, 'a window that is too large'],
  ['by nothing', 0, 1, 'a window increment of 0'],
])('a stream whose window grows %s is lost, and no other', (_, increment, code, why) => {
  const { peer, connection } = byHand();
  const [first, second] = [watched(connection, small), watched(connection, small)];
  peer.turn();
  peer.takeReceived();
  peer.send(numberFrame(frameTypes.windowUpdate, 1, increment));
  peer.turn();
  expect(first.kinds).toEqual([`lost: ${why}`]);
  expect(ofType(peer, frameTypes.resetStream).map(({ stream, payload }) => [stream, payload.readUInt32BE()])).toEqual([
    [1, code],
  ]);
  peer.send(answerTo(3));
  expect(second.kinds).toEqual(['ended']);
  expect(connection.isUsable).toBe(true);
});

test('large requests take turns, one frame each', () => {
  const { peer, connection } = byHand();
  for (let n = 0; n < 3; n++) watched(connection, Buffer.alloc(100_000));
  const order: number[] = [];
  for (let room = 65_535; order.length < 12; room = 32_768) {
    peer.turn();
    order.push(...ofType(peer, data).map(({ stream }) => stream));
    peer.send(numberFrame(frameTypes.windowUpdate, 0, room));
  }
  expect(order.slice(0, 12)).toEqual([1, 3, 5, 1, 3, 5, 1, 3, 5, 1, 3, 5]);
});

test('stream IDs are used up to the last, and later requests are unsent', () => {
  const { peer, connection } = byHand({ firstStreamId: 2 ** 31 - 3 });
  const asked = Array.from({ length: 4 }, () => watched(connection, small));
  peer.turn();
  expect(ofType(peer, headers).map(({ stream }) => stream)).toEqual([2 ** 31 - 3, 2 ** 31 - 1]);
  expect(connection.isUsable).toBe(false);
  expect(asked.map(({ kinds }) => kinds)).toEqual([
    [],
    [],
    ['unsent: the connection accepts no new streams'],
    ['unsent: the connection accepts no new streams'],
  ]);
  peer.send(answerTo(2 ** 31 - 1), answerTo(2 ** 31 - 3));
  expect(asked.slice(0, 2).map(({ kinds }) => kinds)).toEqual([['ended'], ['ended']]);
  for (let n = 0; n < 3; n++) peer.turn();
  expect(peer.closed).toBe(true);
});

test('GOAWAY during two large requests: the one it includes is finished, the other is unsent', () => {
  const { peer, connection } = byHand();
  const [first, second] = [watched(connection, Buffer.alloc(100_000)), watched(connection, Buffer.alloc(100_000))];
  peer.turn();
  peer.takeReceived();
  peer.send(frame(frameTypes.goAway, 0, 0, Buffer.from([0, 0, 0, 1, 0, 0, 0, 0])));
  expect(second.kinds).toEqual(['unsent: the peer sent GOAWAY']);
  let sentBytes = 0;
  for (let n = 0; n < 10; n++) {
    peer.send(
      numberFrame(frameTypes.windowUpdate, 0, 32_768),
      ...(first.kinds.length === 0 ? [numberFrame(frameTypes.windowUpdate, 1, 32_768)] : []),
    );
    peer.turn();
    const frames = ofType(peer, data);
    expect(frames.every(({ stream }) => stream === 1)).toBe(true);
    sentBytes += frames.reduce((sum, { payload }) => sum + payload.length, 0);
    if (frames.some((one) => (one.flags & flags.endStream) !== 0)) peer.send(answerTo(1));
  }
  expect(sentBytes).toBeGreaterThanOrEqual(100_000 - 65_535);
  expect(first.kinds).toEqual(['ended']);
  expect(peer.closed).toBe(true);
});

test('the code and the text of GOAWAY are in the errors of the streams that it ends, and of those that the end of the connection ends', () => {
  const { peer, connection } = byHand();
  const [first, second] = [watched(connection, Buffer.alloc(10)), watched(connection, Buffer.alloc(10))];
  peer.turn();
  const payload = Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 11]), Buffer.from('too_many_pings')]);
  peer.send(frame(frameTypes.goAway, 0, 0, payload));
  connection.destroy();
  const reason = 'the peer sent GOAWAY with code 11 and "too_many_pings"';
  expect([first.kinds, second.kinds]).toEqual([[`lost: ${reason}`], [`unsent: ${reason}`]]);
});

test('a ping acknowledgement that is unread after a stall of the event loop is in time', () => {
  const { peer, connection } = byHand();
  const pong = frame(frameTypes.ping, flags.ack, 0, Buffer.alloc(8));
  watched(connection, small);
  connection.checkAlive();
  peer.turn();
  peer.stall(3_000);
  peer.turn();
  peer.send(pong);
  peer.stall(1_000);
  peer.turn();
  expect(connection.isUsable).toBe(true);
});

test('a connection without a ping acknowledgement is closed, after a stall too', () => {
  for (const steps of [[1_000], [3_000, 1]]) {
    const { peer, connection } = byHand();
    const { kinds } = watched(connection, small);
    connection.checkAlive();
    peer.turn();
    for (const ms of steps) {
      expect(connection.isUsable).toBe(true);
      peer.stall(ms);
      peer.turn();
    }
    expect(kinds).toEqual(['lost: http://peer acknowledged no ping within 1000 ms']);
  }
});

test('with a longer election timeout a ping acknowledgement may take as long', () => {
  const { peer, connection } = byHand({ timeoutMs: 5_000 });
  const { kinds } = watched(connection, small);
  connection.checkAlive();
  peer.turn();
  peer.stall(4_999);
  peer.turn();
  expect(kinds).toEqual([]);
  peer.stall(1);
  peer.turn();
  expect(kinds).toEqual(['lost: http://peer acknowledged no ping within 5000 ms']);
});

test('a member that is repeatedly late is pinged no more often than etcd allows', () => {
  const { peer, connection } = byHand();
  watched(connection, small);
  peer.turn();
  const suspected = (): number => {
    connection.checkAlive();
    peer.turn();
    const pings = ofType(peer, frameTypes.ping).length;
    if (pings > 0) peer.send(frame(frameTypes.ping, flags.ack, 0, Buffer.alloc(8)));
    return pings;
  };
  const pings = Array.from({ length: 8 }, suspected);
  expect(pings).toEqual([1, 1, 1, 0, 0, 0, 0, 0]);
  // Data for a stream resets etcd's count of early pings.
  peer.send(frame(headers, flags.endHeaders, 1, okHeader));
  expect(Array.from({ length: 4 }, suspected)).toEqual([1, 1, 0, 0]);
});
