import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { startProxy } from '@cluster-apiserver/testkit/tcp-proxy';
import { until, untilSteady } from '@cluster-apiserver/testkit/until';
import { encodeGrpcMessage } from './grpc-frames.ts';
import { http2Connect } from './http2-transport.ts';
import type { Transport } from './transport.ts';

const closings: (() => void)[] = [];
afterEach(() => {
  for (const close of closings.splice(0).toReversed()) close();
});

interface Peer {
  readonly transport: Transport;
  readonly server: Http2Server;
  readonly sessions: readonly ServerHttp2Session[];
}

/** A member played by hand. */
async function peer(
  answer: (stream: ServerHttp2Stream, headers: Record<string, unknown>, sessions: number) => void,
): Promise<Peer> {
  const sessions: ServerHttp2Session[] = [];
  const server = createServer();
  server.on('session', (session) => sessions.push(session));
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {});
    answer(stream, headers, sessions.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const transport = http2Connect(systemClock)(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closings.push(() => {
    transport.close();
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { transport, server, sessions };
}

const ask = (transport: Transport, timeoutMs = 2_000): Promise<Buffer> =>
  transport.unary('/service/Method', Buffer.from('question'), { timeoutMs, requireLeader: true });
const framed = (message: Buffer): Buffer => Buffer.concat(encodeGrpcMessage(message));
const faultOf = (asked: Promise<Buffer>) =>
  asked.then(
    () => undefined,
    (fault) => ({ kind: fault.kind, code: fault.code, message: fault.message }),
  );

function good(stream: ServerHttp2Stream, text: string): void {
  stream.respond({ ':status': 200 }, { waitForTrailers: true });
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  stream.end(framed(Buffer.from(text)));
}

test('sends the headers that etcd expects', async () => {
  let seen: Record<string, unknown> = {};
  const { transport } = await peer((stream, headers) => {
    seen = headers;
    good(stream, 'answer');
  });
  expect((await ask(transport)).toString()).toBe('answer');
  expect(seen).toMatchObject({ ':method': 'POST', te: 'trailers', hasleader: 'true', 'grpc-timeout': '2000m' });
  expect(seen[':authority']).toMatch(/^127\.0\.0\.1:\d+$/);
});

test('notices soon that the member of a stream has fallen silent', async () => {
  const { server } = await peer((stream) => {
    stream.respond({ ':status': 200 });
    stream.on('data', () => stream.write(framed(Buffer.from('answer'))));
  });
  const proxy = await startProxy(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closings.push(() => void proxy.close());
  const transport = http2Connect(systemClock)(proxy.endpoint);
  closings.push(() => transport.close());
  const stream = transport.openStream('/service/Method');
  const messages = stream.messages[Symbol.asyncIterator]();
  stream.send(Buffer.from('question'));
  expect((await messages.next()).value?.toString()).toBe('answer');
  proxy.silent = true;
  const sentMs = systemClock.monotonicMs();
  stream.send(Buffer.from('question'));
  await expect(messages.next()).rejects.toMatchObject({ kind: 'lost' });
  expect(systemClock.monotonicMs() - sentMs).toBeLessThan(3_000);
});

test('sends the trace context of a sampled call, and none otherwise', async () => {
  const seen: unknown[] = [];
  const { transport } = await peer((stream, headers) => {
    seen.push([headers['grpc-timeout'], headers['traceparent'], headers['tracestate']]);
    good(stream, 'answer');
  });
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), flags: 1, state: 'vendor=1' };
  await transport.unary('/service/Method', Buffer.from('q'), { timeoutMs: 2_000, requireLeader: true, trace });
  await ask(transport);
  expect(seen).toEqual([
    ['2000m', `00-${trace.traceId}-${trace.spanId}-01`, 'vendor=1'],
    ['2000m', undefined, undefined],
  ]);
});

test('a refusal is read from headers without a body, and its message is decoded', async () => {
  const { transport } = await peer((stream) => {
    stream.respond(
      { ':status': 200, 'grpc-status': '14', 'grpc-message': 'etcdserver: no leader%21' },
      { endStream: true },
    );
  });
  expect(await faultOf(ask(transport))).toEqual({ kind: 'refused', code: 14, message: 'etcdserver: no leader!' });
});

test('a refusal is read from the trailers too', async () => {
  const { transport } = await peer((stream) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '11', 'grpc-message': 'compacted' }));
    stream.end();
  });
  expect(await faultOf(ask(transport))).toEqual({ kind: 'refused', code: 11, message: 'compacted' });
});

test('a call without a response is cancelled at its timeout, and may have been applied', async () => {
  const cancelled = Promise.withResolvers<number | undefined>();
  const { transport } = await peer((stream) => {
    stream.on('close', () => cancelled.resolve(stream.rstCode));
  });
  // Long enough for the question to be there, also on a busy machine.
  expect(await faultOf(ask(transport, 1_000))).toMatchObject({ kind: 'lost', code: 14 });
  expect(await cancelled.promise).toBe(8);
});

test('every call without a response may have been applied, not only the first of a connection', async () => {
  const { transport } = await peer(() => {});
  for (let n = 0; n < 3; n++) expect(await faultOf(ask(transport, 100))).toMatchObject({ kind: 'lost' });
});

test('a late response is delivered until its listener expires', async () => {
  const streams: ServerHttp2Stream[] = [];
  const { transport } = await peer((stream) => {
    streams.push(stream);
  });
  const came: string[] = [];
  const asked = (withinMs: number): Promise<Buffer> =>
    transport.unary('/service/Method', Buffer.from('question'), {
      timeoutMs: 300,
      requireLeader: true,
      late: { withinMs, onResponse: (message) => came.push(String(message)) },
    });
  expect(await faultOf(asked(10_000))).toMatchObject({ kind: 'lost' });
  good(streams[0] as ServerHttp2Stream, 'late'); // it was asked
  await until('the late answer', () => came.length > 0 || undefined);
  expect(await faultOf(asked(0))).toMatchObject({ kind: 'lost' });
  await until('the end of the question', () => streams[1]?.destroyed || undefined);
  expect(came).toEqual(['late']);
});

test('a refused stream was not processed', async () => {
  const { transport } = await peer((stream) => stream.close(7));
  expect(await faultOf(ask(transport))).toMatchObject({ kind: 'unsent' });
});

test('a reset stream may have been processed', async () => {
  const { transport } = await peer((stream) => stream.close(2));
  expect(await faultOf(ask(transport))).toMatchObject({ kind: 'lost' });
});

test('a refused connection means that nothing was sent', async () => {
  const { transport, server } = await peer(() => {});
  await new Promise((resolve) => server.close(resolve));
  expect(await faultOf(ask(transport))).toMatchObject({ kind: 'unsent' });
});

test('after GOAWAY a connection that still serves a stream is closed with the transport', async () => {
  const { transport, sessions } = await peer((stream, { ':path': path }) => {
    if (path === '/service/Method') return good(stream, 'answer');
    stream.respond({ ':status': 200 });
    stream.write(framed(Buffer.from('first')));
    stream.session?.close();
  });
  const messages = transport.openStream('/service/Watch').messages[Symbol.asyncIterator]();
  expect((await messages.next()).value?.toString()).toBe('first');
  await until('a second connection', async () => {
    await ask(transport).catch(() => {});
    return sessions.length > 1 || undefined;
  });
  transport.close();
  await expect(messages.next()).rejects.toMatchObject({ kind: 'lost' });
});

test('after GOAWAY the next call uses a new connection, and the old one finishes its calls', async () => {
  let finishFirst = (): void => {};
  const { transport, sessions } = await peer((stream, _, count) => {
    if (count > 1) return good(stream, 'from the second');
    // Sends GOAWAY, and waits for the streams that are open.
    stream.session?.close();
    finishFirst = () => good(stream, 'from the first');
  });
  const first = ask(transport);
  // The GOAWAY has arrived when a further question opens another session; until then it is refused.
  let second: string | undefined;
  while (second === undefined) {
    second = await ask(transport, 50).then(String, () => undefined);
  }
  expect(second).toBe('from the second');
  finishFirst();
  expect((await first).toString()).toBe('from the first');
  expect(sessions.length).toBe(2);
});

test('an invalid gRPC response is a fault, not a crash', async () => {
  const { transport } = await peer((stream) => {
    stream.respond({ ':status': 200 });
    stream.end('<html>hello</html>');
  });
  expect(await faultOf(ask(transport))).toMatchObject({ kind: 'lost' });
});

test('an HTTP error of a proxy is a fault', async () => {
  const { transport } = await peer((stream) => stream.respond({ ':status': 502 }, { endStream: true }));
  expect(await faultOf(ask(transport))).toMatchObject({
    kind: 'lost',
    message: expect.stringContaining('HTTP status 502'),
  });
});

test('an unread stream holds its sender back by flow control', async () => {
  let sent = 0;
  const message = framed(Buffer.alloc(64 * 1024));
  const { transport } = await peer((stream) => {
    stream.respond({ ':status': 200 });
    const pump = (): void => {
      let room = true;
      for (; room && sent < 2_000; sent++) room = stream.write(message);
      stream.once('drain', pump);
    };
    pump();
  });
  const stream = transport.openStream('/service/Stream');
  const messages = stream.messages[Symbol.asyncIterator]();
  await messages.next();
  const stoppedAt = await untilSteady(() => sent);
  expect(stoppedAt).toBeLessThan(1_000);
  for (let n = 0; n < 500; n++) await messages.next();
  expect(sent).toBeGreaterThan(stoppedAt);
  stream.close();
});

test.each([
  { what: 'speaks no HTTP/2', greeting: 'HTTP/1.1 400 Bad Request\r\n\r\n' },
  { what: 'says nothing', greeting: '' },
])('a connection to a peer that $what is closed', async ({ greeting }) => {
  const open = new Set<Socket>();
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket);
    socket
      .on('error', () => {})
      .on('close', () => open.delete(socket))
      .resume();
    socket.write(greeting);
    // The peer keeps sending after this side has ended the connection, until it is closed.
    socket.on('end', () => {
      const talking = setInterval(() => socket.write('still here'), 10);
      socket.on('close', () => clearInterval(talking));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const transport = http2Connect(systemClock)(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  closings.push(() => {
    transport.close();
    server.close();
  });
  expect(await faultOf(ask(transport, 100))).toMatchObject({ kind: 'lost' });
  await until('the connection to be closed', () => open.size === 0 || undefined);
});

test.each([
  { electionTimeoutMs: 200, timeoutMs: 1_000 },
  { electionTimeoutMs: 5_000, timeoutMs: 5_000 },
])(
  'a handshake may take $timeoutMs ms with an election timeout of $electionTimeoutMs ms',
  async ({ electionTimeoutMs, timeoutMs }) => {
    const server = createTcpServer((socket) => socket.on('error', () => {}).resume());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const clock = fakeClock();
    const options = { electionTimeoutMs };
    const { port } = server.address() as AddressInfo;
    const transport = http2Connect(clock, () => ({}), options)(`https://127.0.0.1:${port}`);
    closings.push(() => {
      transport.close();
      server.close();
    });
    let fault: Awaited<ReturnType<typeof faultOf>>;
    void faultOf(ask(transport, 60_000)).then((found) => (fault = found));
    clock.advance(timeoutMs - 1);
    await new Promise(setImmediate);
    expect(fault).toBeUndefined();
    clock.advance(1);
    expect(await until('the end of the handshake', () => fault)).toMatchObject({ kind: 'unsent' });
  },
);
