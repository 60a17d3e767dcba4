import { describe, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { describeEnd } from '@cluster-apiserver/testkit/end-contract';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { type ApiRequest, type ApiResponse, BodyMemoryError, type Handler, type Sink } from '../exchange.ts';
import type { ReportFailure } from './callback-guard.ts';
import { bodyBytesMax, idleWhileDrainingMs, sweepMs } from './limits.ts';
import { noListenerMeasures } from '../../test/no-listener-measures.ts';
import type { ListenerMeasures } from './measures.ts';
import {
  bodyOf,
  http2Answer,
  type Protocol,
  protocols,
  rawClient,
  send,
  type Served,
  useListener,
} from '../../test/listener.ts';

const serve = useListener();

const text = (body: string, status = 200): ApiResponse => ({ status, headers: {}, body: Buffer.from(body) });
const body = (request: ApiRequest): Promise<ApiResponse> =>
  bodyOf(request, 3_000_000).then(
    (bytes) => text(`${bytes.length}`),
    (error: unknown) => text(String(error), error instanceof BodyMemoryError ? 429 : 500),
  );

/** A request on a connection of its own, whose body is sent by hand. */
interface Begun {
  write(bytes: Buffer): void;
  end(): void;
  /** The number of 100 Continue responses. */
  continued(): number;
  readonly status: Promise<number>;
  /** The body received so far. */
  received(): string;
  /** Whether the client was asked to reconnect. */
  isAskedToReconnect(): boolean;
  disconnect(): void;
}

interface Head {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

async function begin(
  served: Served,
  protocol: Protocol,
  { method = 'POST', target = '/', headers = {} }: Head = {},
): Promise<Begun> {
  if (protocol === 'HTTP/2') {
    const session = served.http2();
    let hasGoaway = false;
    session.on('goaway', () => (hasGoaway = true));
    const stream = session.request({ ...headers, ':method': method, ':path': target });
    const answer = http2Answer(stream);
    let continued = 0;
    let received = '';
    stream.on('continue', () => (continued += 1));
    stream.on('data', (piece: Buffer) => (received += piece));
    stream.on('error', () => {});
    return {
      write: (bytes) => void stream.write(bytes),
      end: () => void stream.end(),
      continued: () => continued,
      status: answer.then(({ status }) => status),
      received: () => received,
      isAskedToReconnect: () => hasGoaway,
      disconnect: () => session.destroy(),
    };
  }
  const client = await served.raw();
  const lines = Object.entries({ Host: 'a', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  client.send(`${method} ${target} HTTP/1.1\r\n${lines.join('')}Transfer-Encoding: chunked\r\n\r\n`);
  const finalHead = /(?:^|\r\n\r\n)HTTP\/1\.1 ([2-5]\d\d) [^]*?\r\n\r\n/;
  return {
    write: (bytes) => {
      client.send(`${bytes.length.toString(16)}\r\n`);
      client.send(bytes);
      client.send('\r\n');
    },
    end: () => client.send('0\r\n\r\n'),
    continued: () => client.received().split('HTTP/1.1 100 Continue\r\n\r\n').length - 1,
    status: client.until(finalHead).then((all) => Number(finalHead.exec(all)?.[1])),
    received: () => client.received(),
    isAskedToReconnect: () => /\r\nConnection: close\r\n/i.test(client.received()),
    disconnect: () => client.socket.destroy(),
  };
}

describe.each(protocols)('over %s', (protocol) => {
  for (const isAborted of [false, true])
    describeEnd(`the end of a request, aborted: ${isAborted}`, async () => {
      const requests: ApiRequest[] = [];
      let answer = (): void => {};
      const served = await serve((request) => {
        requests.push(request);
        return new Promise((resolve) => (answer = () => resolve(text('late'))));
      });
      const client = await begin(served, protocol, { method: 'GET' });
      client.status.catch(() => {});
      client.end();
      await untilTurned(() => requests.length === 1);
      const [request] = requests as [ApiRequest];
      return {
        subscribe: (listener) => request.onEnd(listener),
        end: async () => {
          let isEnded = false;
          request.onEnd(() => (isEnded = true));
          if (isAborted) client.disconnect();
          await untilTurned(() => request.isAborted === isAborted || isEnded);
          answer(); // over HTTP/1.1 a client that has closed its side may still read
          await untilTurned(() => isEnded);
        },
      };
    });

  test('requests in progress while the server drains are answered, and their clients asked to reconnect', async () => {
    const answers: (() => void)[] = [];
    const served = await serve((request) =>
      request.target === '/slow'
        ? new Promise((resolve) => answers.push(() => resolve(text('late'))))
        : request.method === 'POST'
          ? body(request)
          : text('at once'),
    );
    const slow = await begin(served, protocol, { target: '/slow' });
    slow.end();
    const upload = await begin(served, protocol);
    upload.write(Buffer.alloc(1_000));
    await untilTurned(() => answers.length === 1);
    let drained = false;
    const draining = served.listener.drain(60_000).then(() => (drained = true));
    upload.write(Buffer.alloc(1_000));
    upload.end();
    // Load balancers notice late, so new connections are still served.
    expect((await send(served, protocol)).text).toBe('at once');
    expect(drained).toBe(false);
    answers[0]?.();
    expect([await slow.status, await upload.status]).toEqual([200, 200]);
    await untilTurned(() => slow.received().endsWith('late') && upload.received().includes('2000'));
    await untilTurned(() => slow.isAskedToReconnect() && upload.isAskedToReconnect());
    await draining;
  });

  test('a target arrives as it was sent, so that what cannot be decoded is not lost', async () => {
    const served = await serve((request) => text(request.target));
    const target = '/%zz/a?dryRun=%zz&b=%&c=%c3%28&d=a+b;e';
    const client = await begin(served, protocol, { target });
    client.end();
    expect(await client.status).toBe(200);
    await untilTurned(() => client.received().endsWith(target));
  });

  test('streams end when the server drains', async () => {
    const sinks: Sink[] = [];
    const watching: Handler<ApiRequest> = () => ({
      status: 200,
      headers: {},
      stream: async (sink) => {
        sinks.push(sink);
        await new Promise<void>((resolve) => {
          sink.draining.addEventListener('abort', () => resolve(), { once: true });
          sink.signal.addEventListener('abort', () => resolve(), { once: true });
        });
        sink.write(Buffer.from('bye'));
      },
    });
    const served = await serve(watching);
    const watch = await begin(served, protocol, { method: 'GET' });
    watch.end();
    await untilTurned(() => sinks.length === 1);
    const drained = served.listener.drain(60_000);
    expect(await watch.status).toBe(200);
    await untilTurned(() => watch.received().includes('bye'));
    watch.disconnect();
    await drained;
  });

  test('requests in progress while the server closes are answered, and new connections refused', async () => {
    const clock = fakeClock();
    const answers: (() => void)[] = [];
    const served = await serve(() => new Promise((resolve) => answers.push(() => resolve(text('late')))), clock);
    const slow = await begin(served, protocol, { target: '/slow' });
    slow.end();
    await untilTurned(() => answers.length === 1);
    let closed = false;
    const closing = served.listener.close(60_000).then(() => (closed = true));
    await expect(rawClient(served.listener.port, 'http/1.1')).rejects.toThrow('ECONNREFUSED');
    expect(closed).toBe(false);
    answers[0]?.();
    expect(await slow.status).toBe(200);
    await untilTurned(() => slow.received().endsWith('late'));
    // The drain does not wait for a client that keeps its connection.
    await untilTurned(() => {
      clock.advance(sweepMs + idleWhileDrainingMs);
      return closed;
    });
    await closing;
  });

  test('a client that waits for 100 Continue gets it once, when the body is read', async () => {
    const wanted: (() => void)[] = [];
    const served = await serve(async (request) => {
      await new Promise<void>((resolve) => wanted.push(resolve));
      return body(request);
    });
    const client = await begin(served, protocol, { headers: { expect: '100-Continue' } });
    await untilTurned(() => wanted.length === 1);
    expect(client.continued()).toBe(0);
    wanted[0]?.();
    await untilTurned(() => client.continued() === 1);
    client.write(Buffer.alloc(5));
    client.end();
    expect(await client.status).toBe(200);
    expect(client.received()).toContain('5');
    expect(client.continued()).toBe(1);
  });

  test.each([
    ['by the handler', { target: '/unread', headers: { expect: '100-continue' } }, 401],
    ['for two content types', { headers: { expect: '100-continue', 'content-type': 'a/b' } }, 401],
    ['for what it expects', { headers: { expect: 'miracles' } }, 417],
  ] as const)('a waiting client is refused %s without 100 Continue', async (_, head, status) => {
    const served = await serve(() => text('no', 401));
    const client = await begin(served, protocol, head);
    expect(await client.status).toBe(status);
    expect(client.continued()).toBe(0);
  });

  test('a client that disconnects while it waits is not an error', async () => {
    const outcomes: unknown[] = [];
    const served = await serve((request) => {
      bodyOf(request, 10).then(
        (bytes) => outcomes.push(bytes),
        (error: unknown) => outcomes.push(error),
      );
      return new Promise(() => {});
    });
    const client = await begin(served, protocol, { headers: { expect: '100-continue' } });
    client.status.catch(() => {});
    await untilTurned(() => client.continued() === 1);
    client.disconnect();
    await untilTurned(() => outcomes.length === 1);
    expect(outcomes[0]).toMatchObject({ name: 'ClientGoneError' });
    expect(served.reports).toEqual([]);
  });

  // Counting runs in a callback of the socket or stream, so an error of the metrics is thrown there.
  test('unfinished bodies are bounded in memory, even if metrics fail', async () => {
    const clock = fakeClock();
    let heldBytes = 0;
    let refused = 0;
    const failed = new Set<string>();
    const stacks: (string | undefined)[] = [];
    const measures: ListenerMeasures = {
      ...noListenerMeasures,
      setSizes: ({ bodyBytes }) => (heldBytes = bodyBytes),
      countRefusedBody: () => {
        refused += 1;
        throw new Error('broken');
      },
      countFailedCallback: (where) => failed.add(where),
    };
    const report: ReportFailure = (_, error) => stacks.push((error as Error).stack);
    const served = await serve(body, clock, { measures, report });
    const pieceBytes = 2_900_000;
    const uploads: Begun[] = [];
    for (let sent = 0; sent < bodyBytesMax * 1.25; sent += pieceBytes) {
      const upload = await begin(served, protocol);
      upload.status.catch(() => {});
      upload.write(Buffer.alloc(pieceBytes));
      uploads.push(upload);
    }
    const tooMany = uploads.length - Math.floor(bodyBytesMax / pieceBytes);
    await untilTurned(() => refused >= tooMany);
    clock.advance(sweepMs);
    await untilTurned(() => heldBytes > 0);
    expect(heldBytes).toBeLessThanOrEqual(bodyBytesMax);
    expect(heldBytes).toBeGreaterThan(bodyBytesMax / 2);
    // The oldest uploads, which had the most time to finish.
    expect(await Promise.all(uploads.slice(0, tooMany).map(({ status }) => status))).toEqual(Array(tooMany).fill(429));
    expect(failed).toEqual(new Set(['request']));
    expect(stacks).toHaveLength(refused);
    for (const stack of stacks) expect(stack).toMatch(/^Error: broken\n +at .*both-protocols/);
    const last = uploads.at(-1) as Begun;
    last.end();
    expect(await last.status).toBe(200);
    for (const upload of uploads) upload.disconnect();
    await untilTurned(() => {
      clock.advance(sweepMs / 100);
      return heldBytes === 0;
    });
  });
});
