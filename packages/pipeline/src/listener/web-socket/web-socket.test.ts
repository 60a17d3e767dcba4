import { expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import type { ApiRequest, Handler, Sink } from '../../exchange.ts';
import { encodeCloseMessage, encodeMessage } from './messages.ts';
import { lingerMs } from '../limits.ts';
import { clientFrame } from '@cluster-apiserver/testkit/web-socket-frames';
import { type RawClient, useListener } from '../../../test/listener.ts';

const serve = useListener();

const opening = (...headers: string[]): string =>
  [
    'GET /watch HTTP/1.1',
    'Host: a',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
    '',
    '',
  ].join('\r\n');

/** Answers with a stream that a test writes itself. */
function streams(): {
  readonly handler: Handler<ApiRequest>;
  readonly sinks: Sink[];
  readonly requests: ApiRequest[];
  end(): void;
} {
  const sinks: Sink[] = [];
  const requests: ApiRequest[] = [];
  const over = Promise.withResolvers<void>();
  const handler: Handler<ApiRequest> = (request) => {
    requests.push(request);
    return {
      status: request.isWebSocket ? 101 : 200,
      headers: { 'audit-id': 'a' },
      stream: (sink) => {
        sinks.push(sink);
        sink.signal.addEventListener('abort', () => over.resolve());
        return over.promise;
      },
    };
  };
  return { handler, sinks, requests, end: over.resolve };
}

/** The bytes after the response head. */
const frames = (client: RawClient): Buffer => {
  const all = client.received();
  return Buffer.from(all.slice(all.indexOf('\r\n\r\n') + 4), 'latin1');
};

async function open(
  headers: readonly string[] = [],
): Promise<{ readonly client: RawClient; readonly sink: Sink } & ReturnType<typeof streams>> {
  const all = streams();
  const served = await serve(all.handler);
  const client = await served.raw();
  client.send(opening(...headers));
  await client.until(/\r\n\r\n$/);
  return { ...all, client, sink: all.sinks[0] as Sink };
}

test('a stream begins with 101, and its messages arrive unchanged', async () => {
  const { client, sink, end } = await open(['Sec-WebSocket-Protocol: base64.binary.k8s.io']);
  const head = client.received();
  expect(head).toMatch(/^HTTP\/1\.1 101 Switching Protocols\r\n/);
  for (const line of [
    'audit-id: a',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK\\+xOo=',
    'Sec-WebSocket-Protocol: base64\\.binary\\.k8s\\.io',
  ])
    expect(head).toMatch(new RegExp(`\r\n${line}\r\n`));
  expect(head).not.toMatch(/transfer-encoding|content-length/i);
  sink.write(encodeMessage('text', Buffer.from('hello')));
  await client.until(/hello$/);
  await sink.drained();
  expect(sink.backlogBytes).toBe(0);
  end();
  await client.ended();
  expect(frames(client)).toEqual(
    Buffer.concat([encodeMessage('text', Buffer.from('hello')), encodeCloseMessage(1000)]),
  );
});

test('a token in the subprotocols becomes the Authorization header, and is not echoed', async () => {
  const token = Buffer.from('secret').toString('base64url');
  const { client, requests, end } = await open([
    `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${token}, base64.binary.k8s.io`,
  ]);
  expect(requests[0]?.header('authorization')).toBe('Bearer secret');
  expect(requests[0]?.headerLines('sec-websocket-protocol')).toEqual(['base64.binary.k8s.io']);
  expect(client.received()).not.toContain(token);
  end();
});

test('an Authorization header takes precedence over a token in the subprotocols', async () => {
  const token = Buffer.from('other').toString('base64url');
  const { requests, end } = await open([
    'Authorization: Bearer secret',
    `Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.${token}, x`,
  ]);
  expect(requests[0]?.headerLines('authorization')).toEqual(['Bearer secret']);
  end();
});

test('a ping is answered between the messages', async () => {
  const { client, sink, end } = await open();
  client.send(clientFrame(0x9, Buffer.from('are you there')));
  await client.until(/are you there$/);
  sink.write(encodeMessage('text', Buffer.from('yes')));
  await client.until(/yes$/);
  expect(frames(client)).toEqual(
    Buffer.concat([encodeMessage('pong', Buffer.from('are you there')), encodeMessage('text', Buffer.from('yes'))]),
  );
  end();
});

test.each([
  ['closes', clientFrame(0x8, Buffer.from([0x03, 0xe9])), 1001],
  ['sends what is no frame', Buffer.from('GET / HTTP/1.1\r\n\r\n'), 1002],
  ['sends too much', clientFrame(0x2, Buffer.alloc(65_537)), 1009],
])('a client that %s gets a close code, and its stream ends', async (_, sent, code) => {
  const { client, sink } = await open();
  client.send(sent);
  await client.ended();
  expect(frames(client)).toEqual(encodeCloseMessage(code));
  expect(sink.signal.aborted).toBe(true);
  sink.write(encodeMessage('text', Buffer.from('too late')));
  expect(client.received()).not.toContain('too late');
});

test.each(['ends its side', 'is gone'])('the stream of a client that %s ends', async (how) => {
  const { client, sink } = await open();
  if (how === 'is gone') client.socket.destroy();
  else client.socket.end();
  await untilTurned(() => sink.signal.aborted);
});

test('frames that arrive with the request are read', async () => {
  const { handler } = streams();
  const served = await serve(handler);
  const client = await served.raw();
  client.send(Buffer.concat([Buffer.from(opening()), clientFrame(0x9, Buffer.from('early'))]));
  await client.until(/early$/);
});

test('a client that does not read gets no pongs, and is cut off when the stream ends', async () => {
  const clock = fakeClock();
  const { handler, sinks, end } = streams();
  const served = await serve(handler, clock);
  const client = await served.raw();
  client.send(opening());
  await client.until(/\r\n\r\n$/);
  const sink = sinks[0] as Sink;
  client.socket.pause();
  const large = encodeMessage('binary', Buffer.alloc(1_000_000));
  while (sink.backlogBytes < 2_000_000) {
    sink.write(large);
    await new Promise(setImmediate);
  }
  const before = sink.backlogBytes;
  const pings = Buffer.concat(Array.from({ length: 1_000 }, () => clientFrame(0x9, Buffer.alloc(125))));
  for (let n = 0; n < 20; n++) await new Promise<void>((sent) => client.socket.write(pings, () => sent()));
  expect(sink.backlogBytes).toBeLessThanOrEqual(before);
  end();
  await untilTurned(() => sink.signal.aborted);
  expect(sink.backlogBytes).toBeGreaterThan(0);
  clock.advance(lingerMs);
  client.socket.resume();
  await client.ended();
});

test('a draining server closes with going away', async () => {
  const { handler, sinks } = streams();
  const parting: Handler<ApiRequest> = async (request) => {
    const { stream: wait, ...rest } = await handler(request);
    const stream = (sink: Sink): Promise<void> =>
      Promise.race([
        wait?.(sink),
        new Promise<void>((drain) => sink.draining.addEventListener('abort', () => drain())),
      ]);
    return { ...rest, stream };
  };
  const served = await serve(parting);
  const client = await served.raw();
  client.send(opening());
  await client.until(/\r\n\r\n$/);
  await untilTurned(() => sinks.length === 1);
  const drained = served.listener.drain(10_000);
  await client.ended();
  expect(frames(client)).toEqual(encodeCloseMessage(1001));
  client.socket.end();
  await drained;
});

test('a response that is no stream is sent as HTTP, and ends the connection', async () => {
  const served = await serve(({ isWebSocket: webSocket }) => ({
    status: 403,
    headers: {},
    body: Buffer.from(`no: ${webSocket}`),
  }));
  const client = await served.raw();
  client.send(opening());
  expect(await client.ended()).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n.*Connection: close\r\n.*no: true$/s);
});

test.each([
  ['version', opening().replace('13', '8'), /^HTTP\/1\.1 400 .*Sec-WebSocket-Version: 13\r\n/s],
  ['key', opening().replace('dGhl', '!!!!'), /^HTTP\/1\.1 400 /],
  ['host', opening().replace('Host: a\r\n', ''), /^HTTP\/1\.1 400 /],
  [
    'token',
    opening('Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.YQ'),
    /^HTTP\/1\.1 401 .*"reason":"Unauthorized"/s,
  ],
])('an invalid %s is refused before authorization', async (_, request, answer) => {
  const { handler, requests } = streams();
  const served = await serve(handler);
  const client = await served.raw();
  client.send(request);
  expect(await client.ended()).toMatch(answer);
  expect(requests).toEqual([]);
});

test('a WebSocket behind a pending request is refused, and responses are not mixed up', async () => {
  const { handler, requests } = streams();
  const slow: Handler<ApiRequest> = (request) => (request.isWebSocket ? handler(request) : new Promise(() => {}));
  const served = await serve(slow);
  const client = await served.raw();
  client.send(`GET / HTTP/1.1\r\nHost: a\r\n\r\n${opening()}`);
  expect(await client.ended()).toBe('');
  expect(requests).toEqual([]);
});
