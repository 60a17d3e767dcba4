import { describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { systemClock } from '@cluster-apiserver/base';
import { sourceOf } from '../../test/body-source.ts';
import type { ApiRequest, Handler, Sink } from '../exchange.ts';
import { data, endStream, literals, requestHeaders } from '@cluster-apiserver/testkit/http2-frames';
import {
  bodyOf,
  http2Answer,
  packed,
  expectServed,
  countingMeasures,
  text,
  get,
  useListener,
} from '../../test/listener.ts';

const serve = useListener();

describe('an exception in one connection', () => {
  test('many HTTP/2 bodies shorter than their length end only their session', async () => {
    const outcomes: unknown[] = [];
    const served = await serve(async (request) => {
      if (request.method === 'POST') outcomes.push(await bodyOf(request, 1_000).catch((error: unknown) => error));
      return text('');
    });
    const attacker = await served.frames();
    const post = Buffer.concat([packed.post, literals([['content-length', '50']])]);
    const bodies = Array.from({ length: 1_200 }, (_, i) => [
      requestHeaders(2 * i + 1, post, false),
      data(2 * i + 1, Buffer.from('a'), endStream),
    ]);
    attacker.send(Buffer.concat(bodies.flat()));
    await attacker.ended();
    await expectServed(served);
    expect(outcomes.filter((outcome) => Buffer.isBuffer(outcome))).toEqual([]);
  });

  const broken = (what: string): never => {
    throw new Error(what);
  };
  function* breaking(): Generator<Buffer> {
    yield Buffer.alloc(10);
    broken('piece');
  }
  const failures: [string, Handler<ApiRequest>][] = [
    ['the handler', () => broken('handler')],
    ['the handler, later', () => Promise.reject(new Error('later'))],
    ['no answer', () => undefined as never],
    [
      'headers that cannot be read',
      () => ({
        status: 200,
        headers: Object.defineProperty({}, 'a', { enumerable: true, get: () => broken('header') }),
      }),
    ],
    ['a status that cannot be sent', () => ({ status: 9_999, headers: {}, body: Buffer.from('a') })],
    [
      'a length that cannot be read',
      () => ({
        status: 200,
        headers: {},
        body: {
          get length(): number {
            return broken('length');
          },
          next: () => undefined,
          close: () => {},
        },
      }),
    ],
    [
      'the first piece',
      () => ({ status: 200, headers: {}, body: { length: 5, next: () => broken('pieces'), close: () => {} } }),
    ],
    ['a later piece', () => ({ status: 200, headers: {}, body: sourceOf(breaking(), 50_000) })],
    ['a generated body', () => ({ status: 200, headers: {}, body: { next: () => broken('chunk'), close: () => {} } })],
    ['a generated body, later', () => ({ status: 200, headers: {}, body: sourceOf(breaking()) })],
    [
      'a generated body, after a wait',
      () => ({
        status: 200,
        headers: {},
        body: { next: () => Promise.resolve().then(() => broken('chunk')), close: () => {} },
      }),
    ],
    [
      'the end of a body',
      () => ({ status: 200, headers: {}, body: { next: () => undefined, close: () => broken('close') } }),
    ],
    ['a stream', () => ({ status: 200, headers: {}, stream: () => broken('stream') })],
    [
      'a stream, later',
      () => ({
        status: 200,
        headers: {},
        stream: async (sink: Sink) => {
          sink.write(Buffer.from('a'));
          await sink.drained();
          broken('stream');
        },
      }),
    ],
    [
      'who listens for the end',
      (request) => {
        request.onEnd(() => broken('end'));
        return text('');
      },
    ],
    [
      'a body that is not awaited',
      (request) => {
        void request.body(10);
        return broken('handler');
      },
    ],
  ];
  test.each(failures)('in %s is reported, and affects no other request', async (_, faulty) => {
    const slow: (() => void)[] = [];
    const served = await serve((request) => {
      if (request.target === '/a' || request.target === '/') return faulty(request);
      if (request.target !== '/slow') return text('well');
      return new Promise((resolve) => slow.push(() => resolve(text('slow'))));
    });
    const patient = served.http2();
    const waiting = http2Answer(patient.request({ ':path': '/slow' }));
    await untilTurned(() => slow.length === 1);
    const overHttp1 = await served.raw();
    overHttp1.send(`POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n`);
    const overHttp2 = await served.frames();
    // With other requests in the same iteration of the event loop.
    overHttp2.send(
      Buffer.concat([requestHeaders(1, packed.post, false), data(1, Buffer.from('a')), requestHeaders(3, packed.get)]),
    );
    const neighbours = Array.from({ length: 10 }, (_value, i) => http2Answer(patient.request({ ':path': `/n${i}` })));
    expect((await Promise.all(neighbours)).map(({ status }) => status)).toEqual(Array(10).fill(200));
    await untilTurned(() => served.reports.length >= 2);
    await expectServed(served);
    slow[0]?.();
    expect((await waiting).text).toBe('slow');
  });

  // Every dependency of a listener may fail in any of its callbacks.
  const dependencies = ['monotonicMs', 'after', 'soon', 'random', 'measures', 'report'] as const;
  test.each(dependencies.flatMap((which) => [0, 1, 2, 3, 5, 8].map((nth) => [which, nth] as const)))(
    'in %s at call %i leaves the server serving',
    async (which, nth) => {
      let armed = false;
      let calls = 0;
      const faulty =
        <Args extends unknown[], Result>(name: string, call: (...args: Args) => Result) =>
        (...args: Args): Result => {
          if (armed && name === which && calls++ === nth) throw new Error(`${name} is broken`);
          return call(...args);
        };
      const clock = {
        now: () => systemClock.now(),
        monotonicMs: faulty('monotonicMs', () => systemClock.monotonicMs()),
        after: faulty('after', systemClock.after),
        soon: faulty('soon', systemClock.soon),
        microtask: systemClock.microtask,
      };
      const random = {
        below: faulty('random', () => 2 ** 30),
        uuid: () => '',
        bytes: (count: number) => Buffer.alloc(count),
      };
      const { measures } = countingMeasures();
      const served = await serve(
        async (request) => {
          await request.body(100);
          return request.target === '/fault' ? broken('handler') : text('well');
        },
        clock,
        {
          random,
          goawayChance: 0.01,
          measures: {
            ...measures,
            countFailedCallback: faulty('measures', measures.countFailedCallback),
            setSizes: faulty('measures', () => {}),
          },
          report: faulty('report', () => {}),
        },
      );
      armed = true;
      for (let round = 0; round < 4; round++) {
        // An error while a connection opens closes that connection.
        const client = await served.raw().catch(() => undefined);
        client?.send(get('/a') + get('/fault') + 'broken\r\n\r\n');
        const webSocket = await served.raw().catch(() => undefined);
        webSocket?.send(
          get(
            '/ws',
            'Connection: Upgrade',
            'Upgrade: websocket',
            'Sec-WebSocket-Version: 13',
            `Sec-WebSocket-Key: ${'A'.repeat(22)}==`,
          ),
        );
        const frames = await served.frames().catch(() => undefined);
        frames?.send(requestHeaders(1, packed.get));
        await untilTurned(() => !client || client.receivedBytes() > 0 || client.socket.destroyed || calls > nth);
        for (const opened of [client, webSocket, frames]) opened?.socket.destroy();
      }
      armed = false;
      await expectServed(served);
    },
  );
});
