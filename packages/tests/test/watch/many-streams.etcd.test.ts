import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

// Go clients open all watches on one HTTP/2 connection: an unread watch must not block the others.

const connections = 10;
const watchesEach = 100;
const stoppedEach = 5;
const events = 20;
/** Together larger than the stream window, so an unread watch is blocked by flow control. */
const eventBytes = 5_000;
const slowTestMs = 180_000;
const limitMs = 120_000;

const path = '/api/v1/namespaces/many/serviceaccounts';
const cleanup = new CleanupStack();
let server: TestServer;
beforeAll(async () => {
  server = await serveKinds(kinds);
  cleanup.defer('server', () => server.close());
});
afterAll(() => cleanup.close());

test(
  '1,000 watches on 10 connections receive all events, although some of them are not read',
  async () => {
    const sessions = await Promise.all(Array.from({ length: connections }, () => openSession()));
    const watches = sessions.flatMap((session) => Array.from({ length: watchesEach }, () => new Watch(session)));
    const isStopped = (at: number): boolean => at % watchesEach < stoppedEach;
    const stopped = watches.filter((_, at) => isStopped(at));
    const reading = watches.filter((_, at) => !isStopped(at));
    await until('all watches', () => watches.every(({ begun }) => begun) || undefined, limitMs);
    for (const watch of stopped) watch.stop();

    const names = Array.from({ length: events }, (_, at) => `robot-${at}`);
    for (const name of names) await create(name);
    await until(
      'everything',
      () => reading.every(({ eventNames }) => eventNames.length === events) || undefined,
      limitMs,
    );
    for (const { eventNames } of reading) expect(eventNames).toEqual(names);
    for (const { eventNames } of stopped) expect(eventNames.length).toBeLessThan(events);

    // One stream on each connection becomes free and can be reused. Like Go's client, wait for a ping first: Node
    // counts a reset stream until it has read everything before the reset.
    for (const [at, session] of sessions.entries()) {
      watches[at * watchesEach + watchesEach - 1]?.close();
      await new Promise((answered) => session.ping(answered));
      expect(await statusOf(session, '/api/v1/namespaces/many/serviceaccounts/robot-0')).toBe(200);
    }

    for (const watch of stopped) watch.goOn();
    await until(
      'the rest',
      () => stopped.every(({ eventNames }) => eventNames.length === events) || undefined,
      limitMs,
    );
    for (const { eventNames } of stopped) expect(eventNames).toEqual(names);
  },
  slowTestMs,
);

/** A connection with Go's flow-control windows: large for the connection, small for each stream. */
async function openSession(): Promise<ClientHttp2Session> {
  const session = connect(server.url, { ca: server.certificate });
  cleanup.defer('session', () => session.destroy());
  await new Promise((settings) => session.once('remoteSettings', settings));
  expect(session.remoteSettings.maxConcurrentStreams).toBe(watchesEach);
  session.setLocalWindowSize(2 ** 30);
  return session;
}

const request = (session: ClientHttp2Session, target: string): ClientHttp2Stream =>
  session.request({ ':path': target, authorization: `Bearer ${server.token}` });

function statusOf(session: ClientHttp2Session, target: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const stream = request(session, target);
    stream.on('response', (headers) => resolve(Number(headers[':status'])));
    stream.on('error', reject).resume();
  });
}

async function create(name: string): Promise<void> {
  const metadata = { name, annotations: { note: 'a'.repeat(eventBytes) } };
  const { status } = await server.request('POST', path, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  expect(status).toBe(201);
}

class Watch {
  begun = false;
  readonly eventNames: string[] = [];
  readonly #stream: ClientHttp2Stream;
  #line = '';

  constructor(session: ClientHttp2Session) {
    this.#stream = request(session, `${path}?watch=true`);
    this.#stream.on('response', () => (this.begun = true));
    this.#stream.on('data', (piece: Buffer) => this.#read(piece));
    this.#stream.on('error', () => {});
  }

  stop(): void {
    this.#stream.pause();
  }

  goOn(): void {
    this.#stream.resume();
  }

  close(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
  }

  #read(piece: Buffer): void {
    const lines = `${this.#line}${piece.toString('latin1')}`.split('\n');
    this.#line = lines.pop() ?? '';
    for (const line of lines) this.eventNames.push(/"name":"(robot-\d+)"/.exec(line)?.[1] ?? line);
  }
}
