import { createServer, type Http2Server, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import { until } from '../../../../base/test/until.ts';
import { type Connection, connect, type Listener, type Stream } from './connection.ts';
import { flags, frameHead, frameTypes, numberFrame, preface, settingNumbers, settingsFrame } from './frames.ts';
import { headerBlock } from './header-block.ts';

const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0).toReversed()) close();
});

/** Node's HTTP/2, which is somebody else's, on the other side. */
async function peer(
  settings: NonNullable<Parameters<typeof createServer>[0]>['settings'],
  answer: (stream: ServerHttp2Stream, headers: Record<string, unknown>) => unknown,
): Promise<{ connection: Connection; server: Http2Server }> {
  // Its own limit of 10 MB would refuse what we ask for at once.
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
  const connection = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, undefined, systemClock);
  closings.push(
    () => server.close(),
    () => connection.destroy(),
  );
  return connection;
}

const questionHeaders = headerBlock([
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
  const listener: Listener = {
    headers: (told) => headers.push(told),
    data: (piece) => pieces.push(Buffer.from(piece)),
    ended: () => resolve(Buffer.concat(pieces)),
    lost: (fate, cause) => reject(Object.assign(new Error(fate), { cause })),
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

test('reads what another implementation makes of headers, packed, remembered and forgotten', async () => {
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

test('a header that needs several frames is read', async () => {
  const long = 'x'.repeat(40_000);
  const { connection } = await peer({}, (stream) => {
    stream.respond({ ':status': 200, long });
    stream.end();
  });
  const asked = ask(connection, Buffer.from('question'));
  await asked.body;
  expect(asked.headers[0]?.get('long')).toBe(long);
});

test('a large question goes through small windows, and small ones need not wait for it', async () => {
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

test('a window that is made larger or smaller meanwhile is kept to', async () => {
  const { connection } = await peer({ initialWindowSize: 10 }, async (stream) => {
    stream.session?.settings({ initialWindowSize: 100_000 });
    const question = await readAll(stream);
    stream.session?.settings({ initialWindowSize: 7 });
    stream.respond({ ':status': 200 });
    stream.end(String(question.length));
  });
  for (let n = 0; n < 5; n++) expect(String(await ask(connection, Buffer.alloc(200_000)).body)).toBe('200000');
});

test('large answers come whole, many at once', async () => {
  const answer = Buffer.alloc(9_000_000, 'an answer');
  const { connection } = await peer({}, (stream) => {
    stream.respond({ ':status': 200 });
    stream.end(answer);
  });
  const bodies = await Promise.all(Array.from({ length: 6 }, () => ask(connection, Buffer.from('question')).body));
  for (const body of bodies) expect(body.equals(answer)).toBe(true);
});

test('no more questions are open than the other side wants, and who gives up while waiting was never heard', async () => {
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
  // The first tells us the settings.
  const first = ask(connection, Buffer.from('question'));
  await until('the first question', () => open.length === 1 || undefined);
  answerOne();
  await first.body;
  const asked = Array.from({ length: 10 }, () => ask(connection, Buffer.from('question')));
  await until('two questions', () => open.length === 2 || undefined);
  expect(asked.map(({ stream }) => stream.sent)).toEqual([true, true, ...Array.from({ length: 8 }, () => false)]);
  asked[5]?.stream.cancel();
  for (let answered = 0; answered < 9; answered++) {
    await until('a question', () => open.length > 0 || undefined);
    answerOne();
  }
  const others = asked.filter((_, n) => n !== 5);
  expect(await Promise.all(others.map(fateOf))).toEqual(others.map(() => 'answer'));
  expect([openMost, heard]).toEqual([2, 10]);
});

test('an answer that comes before the question has been heard ends the question', async () => {
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

test('what is asked after the other side said that it leaves was not heard, what it has is answered', async () => {
  const open: ServerHttp2Stream[] = [];
  const { connection } = await peer({}, (stream) => {
    open.push(stream);
  });
  const first = ask(connection, Buffer.from('question'));
  await until('the question', () => open.length === 1 || undefined);
  const [stream] = open;
  stream?.session?.goaway(0, stream.id);
  await until('the goodbye', () => !connection.usable || undefined);
  stream?.respond({ ':status': 200 });
  stream?.end('answer');
  expect(await fateOf(first)).toBe('answer');
});

/** Says whatever a member may not say, as soon as it has been asked something. */
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
const frame = (type: number, flagged: number, stream: number, payload: Buffer = Buffer.alloc(0)): Buffer =>
  Buffer.concat([frameHead(type, flagged, stream, payload.length), payload]);
const okHeader = headerBlock([[':status', '200']]);
const { headers, data, continuation } = frameTypes;

test.each<{ what: string; says: Buffer[]; fault: string }>([
  { what: 'no frames at all', says: [Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')], fault: 'limit is 16384' },
  { what: 'its own preface', says: [preface], fault: 'limit is 16384' },
  { what: 'something before its settings', says: [frame(frameTypes.ping, 0, 0, Buffer.alloc(8))], fault: 'begin with' },
  { what: 'a frame that is too long', says: [greeting, frameHead(data, 0, 1, 16_385)], fault: '16385 bytes' },
  { what: 'broken settings', says: [frame(frameTypes.settings, 0, 0, Buffer.alloc(5))], fault: 'broken settings' },
  {
    what: 'a window beyond all bounds',
    says: [settingsFrame([[settingNumbers.initialWindowSize, 2 ** 31]])],
    fault: 'a window of',
  },
  {
    what: 'windows that add up beyond all bounds',
    says: [greeting, numberFrame(frameTypes.windowUpdate, 0, 2 ** 31 - 1)],
    fault: 'beyond all bounds',
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
  { what: 'the rest of a header', says: [greeting, frame(continuation, 4, 1, okHeader)], fault: 'has not begun' },
  {
    what: 'something amid a header',
    says: [greeting, frame(headers, 0, 1, okHeader), frame(data, 0, 1)],
    fault: 'not gone on with',
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
    fault: 'more was sent',
  },
])('a member that sends $what is left, and the fault says so', async ({ says, fault }) => {
  const { connection, open } = await rogue(...says);
  const { promise, resolve } = Promise.withResolvers<[string, Error | undefined]>();
  const stream = connection.open(questionHeaders, {
    headers: () => stream.pause(),
    data: () => {},
    ended: () => resolve(['ended', undefined]),
    lost: (fate, cause) => resolve([fate, cause]),
  });
  stream.send([Buffer.from('question')], true);
  const [fate, cause] = await promise;
  expect([fate, cause?.message]).toEqual(['lost', expect.stringContaining(fault)]);
  expect(connection.usable).toBe(false);
  await until('the connection to be closed', () => open.size === 0 || undefined);
});

test('what need not be known is passed over', async () => {
  const { connection } = await rogue(
    greeting,
    frame(77, 255, 9, Buffer.from('a frame of tomorrow')),
    settingsFrame([[4_711, 1]]),
    frame(headers, flags.endHeaders | flags.padded | flags.priority, 1, Buffer.from([2, 0, 0, 0, 0, 0, 0x88, 0, 0])),
    frame(data, flags.padded, 1, Buffer.from([1, 0x61, 0])),
    frame(data, 0, 1),
    frame(headers, flags.endHeaders | flags.endStream, 1, headerBlock([['grpc-status', '0']])),
    frame(data, 0, 1, Buffer.from('of a stream that is over')),
  );
  const asked = ask(connection, Buffer.from('question'));
  expect(String(await asked.body)).toBe('a');
  expect(asked.headers.map((told) => Object.fromEntries(told))).toEqual([{ ':status': '200' }, { 'grpc-status': '0' }]);
  expect(connection.usable).toBe(true);
});

test('whatever bytes come, the connection ends or waits, and nothing is thrown', async () => {
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
