import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { Agent, WebSocket } from 'undici';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

// Watches over WebSocket, as a dashboard opens them from a browser.

const waitMs = 20_000;
const board = 'https://board.example';

let server: TestServer;
let agent: Agent;
const opened: WebSocket[] = [];
beforeAll(async () => {
  server = await serveKinds(kinds, { flags: ['--cors-allowed-origins=//board\\.example(:|$)'] });
  agent = new Agent({ connect: { ca: server.certificate }, allowH2: false });
});
afterEach(() => {
  for (const socket of opened.splice(0)) socket.close();
});
afterAll(async () => {
  await agent.destroy();
  await server.close();
});

interface Watched {
  readonly socket: WebSocket;
  readonly messages: (string | Buffer)[];
  /** The names of the delivered objects. */
  readonly eventNames: string[];
  readonly closed: Promise<number>;
}

interface Opening {
  readonly origin?: string | undefined;
  readonly protocols?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

const bearer = (): string => `base64url.bearer.authorization.k8s.io.${Buffer.from(server.token).toString('base64url')}`;

function open(
  path: string,
  { origin = server.url, protocols = ['base64.binary.k8s.io', bearer()], headers = {} }: Opening = {},
): Watched {
  const socket = new WebSocket(`${server.url.replace('https', 'wss')}${path}`, {
    protocols: [...protocols],
    dispatcher: agent,
    headers: { ...(origin && { origin }), ...headers },
  });
  socket.binaryType = 'arraybuffer';
  opened.push(socket);
  const messages: (string | Buffer)[] = [];
  const eventNames: string[] = [];
  socket.addEventListener('message', ({ data }) => {
    messages.push(typeof data === 'string' ? data : Buffer.from(data as ArrayBuffer));
    if (typeof data !== 'string') return;
    const { type, object } = JSON.parse(data) as { type: string; object: { metadata: { name: string } } };
    eventNames.push(`${type} ${object.metadata.name}`);
  });
  const closed = new Promise<number>((resolve) => {
    socket.addEventListener('close', ({ code }) => resolve(code));
    socket.addEventListener('error', () => {}); // 'close' follows
  });
  return { socket, messages, eventNames, closed };
}

const path = (namespace: string, query = ''): string =>
  `/api/v1/namespaces/${namespace}/serviceaccounts?watch=1${query}`;
const create = async (namespace: string, name: string, more: object = {}): Promise<void> => {
  const body = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, ...more } };
  const { status } = await server.request('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, body);
  expect(status).toBe(201);
};
const isOpen = (watched: Watched): Promise<true> =>
  until('the WebSocket', () => watched.socket.readyState === WebSocket.OPEN || undefined, waitMs);

test('a page with a token in its subprotocols receives each event in a separate message', async () => {
  await create('text', 'first');
  const watched = open(path('text'));
  await until('what is there', () => watched.eventNames.length === 1 || undefined, waitMs);
  expect(watched.socket.protocol).toBe('base64.binary.k8s.io');
  await Promise.all(
    ['second', 'third'].map((name) => create('text', name, { annotations: { note: 'ä'.repeat(40_000) } })),
  );
  await server.request('DELETE', '/api/v1/namespaces/text/serviceaccounts/first');
  await until('all of them', () => watched.eventNames.length === 4 || undefined, waitMs);
  expect(watched.eventNames.toSorted()).toEqual(['ADDED first', 'ADDED second', 'ADDED third', 'DELETED first']);
});

test('events are also delivered as tables and as protobuf', async () => {
  await create('forms', 'first');
  const table = open(path('forms'), { headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' } });
  const protobuf = open(path('forms'), { headers: { accept: 'application/vnd.kubernetes.protobuf' } });
  await until('both', () => (table.messages.length > 0 && protobuf.messages.length > 0) || undefined, waitMs);
  expect(JSON.parse(table.messages[0] as string)).toMatchObject({ type: 'ADDED', object: { kind: 'Table' } });
  const bytes = protobuf.messages[0] as Buffer;
  // A WatchEvent that contains an object with the usual prefix; there is no length prefix.
  expect(bytes.subarray(0, 7).toString('latin1')).toBe('\n\u0005ADDED');
  expect(bytes.indexOf('k8s\0')).toBeGreaterThan(0);
});

test('a watch that reaches its timeout is closed normally', async () => {
  expect(await open(path('short', '&timeoutSeconds=1')).closed).toBe(1000);
});

test("the server completes a client's closing handshake", async () => {
  const watched = open(path('closing'));
  await isOpen(watched);
  watched.socket.close(4000, 'enough');
  expect(await watched.closed).toBe(4000);
});

test('client messages are ignored, and too many end the watch', async () => {
  const watched = open(path('talkative'));
  await isOpen(watched);
  watched.socket.send('hello?');
  await create('talkative', 'robot');
  await until('the event', () => watched.eventNames.length === 1 || undefined, waitMs);
  watched.socket.send('a'.repeat(100_000));
  expect(await watched.closed).toBe(1009);
});

/** The status of a rejected WebSocket request. */
const statusOf = async (path: string, headers: Readonly<Record<string, string>>): Promise<number> =>
  (await requestHttps(`${server.url}${path}`, { ca: server.certificate, headers })).status;

describe('access by browsers', () => {
  test('is allowed for pages of an allowed origin', async () => {
    await isOpen(open(path('a'), { origin: board }));
  });

  // A browser only learns that the connection failed.
  test.each<[string, () => Opening, number]>([
    ['is denied for pages of other origins', () => ({ origin: 'https://evil.example' }), 403],
    ['is denied without an origin', () => ({ origin: '' }), 403],
    ['is denied without a token', () => ({ protocols: ['base64.binary.k8s.io'] }), 401],
    [
      'is denied with an invalid token',
      () => ({ protocols: ['x', 'base64url.bearer.authorization.k8s.io.d3Jvbmc'] }),
      401,
    ],
    ['is denied if the token is the only subprotocol', () => ({ protocols: [bearer()] }), 401],
  ])('%s', async (_, opening, status) => {
    const { origin = server.url, protocols = ['x', bearer()] } = opening();
    expect(await open(path('a'), opening()).closed).toBe(1006);
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      'sec-websocket-protocol': protocols.join(', '),
      ...(origin && { origin }),
    };
    expect(await statusOf(path('a'), headers)).toBe(status);
  });

  test('includes other responses for pages of an allowed origin', async () => {
    const { headers } = await agent.request({
      origin: server.url,
      path: '/version',
      method: 'GET',
      headers: { origin: board },
    });
    expect(headers['access-control-allow-origin']).toBe(board);
  });
});

test('a WebSocket request that is not a watch gets a normal response', async () => {
  const watched = open('/api/v1/namespaces/a/serviceaccounts');
  expect(await watched.closed).toBe(1006);
});

test('a stopping server closes WebSockets with "going away"', async () => {
  const parting = await serveKinds(kinds, { etcd: server.etcd });
  const own = new Agent({ connect: { ca: parting.certificate }, allowH2: false });
  const socket = new WebSocket(`${parting.url.replace('https', 'wss')}${path('a')}`, {
    protocols: ['x'],
    dispatcher: own,
    headers: { origin: parting.url, authorization: `Bearer ${parting.token}` },
  });
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  await new Promise((resolve) => socket.addEventListener('open', resolve));
  const stopped = parting.close();
  expect(await closed).toBe(1001);
  await own.destroy();
  await stopped;
});
