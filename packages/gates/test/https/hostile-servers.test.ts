import { once } from 'node:events';
import net, { type AddressInfo, type Socket } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { callUntil, seededRandom, systemClock } from '@cluster-apiserver/base';
import { createAuthority } from '@cluster-apiserver/certificates';
import {
  createTokenCaches,
  createHttpsClient,
  createProxyDial,
  type TokenAuthenticator,
  createTokenWebhook,
} from '../../src/index.ts';
import type { HttpsClient, HttpsClientOptions } from '../../src/https/https-client.ts';
import { TokenRejectedError } from '../../src/authentication/token-rejected-error.ts';
import { sendToWebhook } from '../../src/webhook/send-to-webhook.ts';
import { WebhookError } from '../../src/webhook/webhook-error.ts';

/**
 * Whatever a webhook, a proxy before it or a part of ours does to a question costs that question, and neither the process
 * nor the questions beside it. Jest fails a test in which an exception or a rejection reaches the process.
 */
let server: tls.Server;
let proxy: net.Server;
let authority: string;
let serve: (socket: TLSSocket, asked: string) => void;
let connect: (socket: Socket) => void;
const sockets = new Set<Socket>();

beforeAll(async () => {
  const made = await createAuthority('webhooks', systemClock, seededRandom(4));
  const { certificate, privateKey } = await made.issueForServer({ commonName: 'webhook', hosts: ['127.0.0.1'] });
  authority = made.certificate;
  server = tls.createServer({ cert: certificate, key: privateKey }, (socket) => {
    socket.on('error', ignoreResets);
    let asked = '';
    socket.on('data', (piece: Buffer) => {
      asked += piece.toString('latin1');
      if (!/\r\n\r\n\{.*\}$/s.test(asked)) return;
      serve(socket, asked);
      asked = '';
    });
  });
  server.on('tlsClientError', ignoreResets);
  proxy = net.createServer((socket) => {
    socket.on('error', ignoreResets);
    socket.once('data', () => connect(socket));
  });
  for (const one of [server, proxy]) {
    one.on('connection', (socket: Socket) => void sockets.add(socket));
    one.listen(0, '127.0.0.1');
    await once(one, 'listening');
  }
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});
afterAll(() => {
  server.close();
  proxy.close();
});

/** The other side of a client that has given up. */
const ignoreResets = (): void => {};
const portOf = (listening: net.Server): number => (listening.address() as AddressInfo).port;
const clientOf = (options: Partial<HttpsClientOptions> = {}): HttpsClient =>
  createHttpsClient({ clock: systemClock, ca: authority, connectionsMax: 2, ...options });
const call = callUntil(Number.POSITIVE_INFINITY);
const answerMsMax = 1_000;
const send = (client: HttpsClient): Promise<unknown> =>
  client.send(
    {
      method: 'POST',
      url: new URL(`https://127.0.0.1:${portOf(server)}/`),
      body: '{}',
      bodyBytesMax: 1_000,
      timeoutMs: answerMsMax,
    },
    call,
  );
const review = JSON.stringify({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenReview',
  status: { authenticated: true, user: { username: 'al' } },
});
const whole = `HTTP/1.1 200 OK\r\nContent-Length: ${review.length}\r\n\r\n${review}`;
const good = (socket: TLSSocket): void => void socket.write(whole);
const says =
  (...pieces: readonly string[]) =>
  (socket: TLSSocket): void => {
    for (const piece of pieces) socket.write(piece);
  };

describe('a malicious server', () => {
  test.each<[string, (socket: TLSSocket) => void]>([
    ['resets the connection', (socket) => resetBelow(socket)],
    [
      'resets the connection in its body',
      (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n{', () => resetBelow(socket)),
    ],
  ])('that %s costs its question', async (_, answer) => {
    const client = clientOf();
    serve = answer;
    await expect(send(client)).rejects.toThrow();
    serve = good;
    expect(await send(client)).toEqual({ status: 200, body: review });
    client.close();
  });

  test.each<[string, (socket: TLSSocket) => void]>([
    ['what is no HTTP', says('hello\r\n\r\n')],
    ['interim answers only', (socket) => says(...Array<string>(11).fill('HTTP/1.1 102 Processing\r\n\r\n'))(socket)],
    ['more than is read', says(`HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n${'x'.repeat(2_000)}`)],
  ])('that sends %s is not asked again', async (_, answer) => {
    const client = clientOf();
    let answers = 0;
    serve = (socket) => {
      answers++;
      answer(socket);
    };
    const retry = { triesMax: 5, firstPauseMs: 1, growth: 1, jitter: 0, tryMs: 30_000, allMs: 30_000 };
    const connection = { client, url: new URL(`https://127.0.0.1:${portOf(server)}/`), bearerToken: undefined };
    const sent = sendToWebhook(
      '{}',
      {
        connection: () => connection,
        bodyBytesMax: 1_000,
        retry,
        clock: systemClock,
        random: seededRandom(1),
        signal: new AbortController().signal,
      },
      call,
    );
    await expect(sent).rejects.toThrow(WebhookError);
    expect(answers).toBe(1);
    client.close();
  });

  test('that sends surplus bytes cannot answer the next request with them', async () => {
    const client = clientOf();
    serve = says(whole, 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nbad', '\0'.repeat(100));
    const outcomes: unknown[] = [];
    for (let asked = 0; asked < 5; asked++) outcomes.push(await send(client).catch(({ message }: Error) => message));
    expect(outcomes).toContainEqual({ status: 200, body: review });
    expect(outcomes).not.toContainEqual({ status: 200, body: 'bad' });
    client.close();
  });

  /** Through which both sides talk, and which one resets once so many bytes have passed to us. */
  const resettingAfter =
    (bytesMax: number) =>
    (socket: Socket): void => {
      socket.write('HTTP/1.1 200 Yes\r\n\r\n');
      if (bytesMax === 0) return void socket.resetAndDestroy();
      const there = net.connect(portOf(server), '127.0.0.1');
      there.on('error', ignoreResets);
      let bytes = 0;
      there.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes <= bytesMax) return void socket.write(piece);
        socket.resetAndDestroy();
        there.destroy();
      });
      socket.pipe(there);
      socket.on('close', () => there.destroy());
    };
  test.each<[string, (socket: Socket) => void]>([
    ['resets the connection it was to open', (socket) => void socket.resetAndDestroy()],
    ['resets the connection it has opened', resettingAfter(0)],
    ['resets the connection in the handshake', resettingAfter(100)],
    ['resets the connection behind the handshake', resettingAfter(1_400)],
    ['says what is no TLS', (socket) => void socket.write('HTTP/1.1 200 Yes\r\n\r\n', () => socket.end('noise'))],
    ['speaks before it is asked', (socket) => void socket.write('HTTP/1.1 200 Yes\r\n\r\nnoise')],
    ['answers twice', (socket) => void socket.write('HTTP/1.1 200 Yes\r\n\r\nHTTP/1.1 200 Yes\r\n\r\n')],
    ['says what is no HTTP', (socket) => socket.end('noise')],
    [
      'changes the protocol',
      (socket) => void socket.write('HTTP/1.1 101 Over\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    ],
  ])('behind a proxy that %s is not reached, and that is all', async (_, opened) => {
    const dial = createProxyDial({ url: new URL(`http://127.0.0.1:${portOf(proxy)}`), tls: undefined });
    const client = clientOf({ dial, connectionsMax: undefined });
    serve = good;
    connect = opened;
    await expect(send(client)).rejects.toThrow();
    connect = resettingAfter(Number.POSITIVE_INFINITY);
    expect(await send(client)).toEqual({ status: 200, body: review });
    client.close();
  });
});

/** The socket below TLS sends the reset. */
const resetBelow = (socket: TLSSocket): void => {
  const below = [...sockets].find((one) => one.remotePort === socket.remotePort);
  below?.resetAndDestroy();
};

describe('an internal error', () => {
  const parts = ['monotonicMs', 'now', 'after', 'random', 'connection', 'client', 'measure', 'signal'] as const;
  test.each(parts.flatMap((part) => [0, 1, 3].map((nth) => [part, nth] as const)))(
    'in %s, at its call %i, costs the questions that meet it',
    async (part, nth) => {
      let armed = true;
      let calls = 0;
      const faulty =
        <Args extends unknown[], Result>(name: string, act: (...args: Args) => Result) =>
        (...args: Args): Result => {
          if (armed && name === part && calls++ === nth) throw new Error(`${name} is broken`);
          return act(...args);
        };
      const clock = {
        now: faulty('now', systemClock.now),
        monotonicMs: faulty('monotonicMs', systemClock.monotonicMs),
        after: faulty('after', systemClock.after),
        soon: systemClock.soon,
        microtask: systemClock.microtask,
      };
      const random = seededRandom(5);
      const client = clientOf({ clock });
      const closing = new AbortController();
      const webhook = createTokenWebhook({
        connection: faulty('connection', () => ({
          client: { send: faulty('client', (request, call) => client.send(request, call)) },
          url: new URL(`https://127.0.0.1:${portOf(server)}/`),
          bearerToken: 'x',
        })),
        clock,
        random: { ...random, below: faulty('random', random.below) },
        signal: closing.signal,
        version: 'v1',
        apiAudiences: [],
        reviewed: () => {},
      });
      const measure = faulty('measure', () => {});
      // It declares one counter.
      const metrics = { counter: () => ({ series: () => measure }) } as never;
      const tokens: TokenAuthenticator = createTokenCaches(clock, random, metrics)(webhook, 1);
      const noSignal = faulty('signal', () => undefined);
      const ask = async (token: string): Promise<unknown> => {
        const asker = { ...call, isAborted: false };
        Object.defineProperty(asker, 'signal', { get: noSignal });
        return tokens.authenticateToken(token, asker);
      };
      let answers = 0;
      // The first answer is a 503, which is asked again.
      serve = (socket) =>
        answers++ === 0 ? says('HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n')(socket) : good(socket);
      const outcomes = await Promise.allSettled(['a', 'b', 'a', 'c', 'd'].map(ask));
      // All of them ended, some of them well.
      expect(outcomes.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
      for (const outcome of outcomes)
        if (outcome.status === 'rejected' && !(outcome.reason instanceof TokenRejectedError))
          expect(outcome.reason).toMatchObject({ message: `${part} is broken` });
      armed = false;
      expect(await ask('next')).toMatchObject({ user: { name: 'al' } });
      closing.abort();
      client.close();
    },
  );
});
