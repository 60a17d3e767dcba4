import { describe, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import { once } from 'node:events';
import { responseStallMs, idleTimeoutMs, lingerMs, pieceBytes, pipelinedRequestsMax, sweepMs } from './limits.ts';
import { requestHeaders, resetStream } from '@cluster-apiserver/testkit/http2-frames';
import { http2Answer, packed, text, echo, get, useListener } from '../../test/listener.ts';
import type { ApiResponse } from '../exchange.ts';
import * as limits from './limits.ts';

const serve = useListener();

describe('slow, disconnected and flooding clients', () => {
  test.each(['HTTP/1.1', 'HTTP/2'])(
    'the signal of an %s request aborts only when its client disconnects',
    async (protocol) => {
      const signals: AbortSignal[] = [];
      const served = await serve((request) => {
        signals.push(request.signal);
        return request.target === '/quick' ? text('quick') : new Promise(() => {});
      });
      if (protocol === 'HTTP/2') {
        const session = served.http2();
        await http2Answer(session.request({ ':path': '/quick' }));
        session.request({ ':path': '/slow' }).on('error', () => {});
        await untilTurned(() => signals.length === 2);
        session.destroy();
      } else {
        const client = await served.raw();
        client.send(get('/quick'));
        await client.until(/quick$/);
        client.send(get('/slow'));
        await untilTurned(() => signals.length === 2);
        client.socket.destroy();
      }
      await untilTurned(() => (signals[1] as AbortSignal).aborted);
      expect(signals[0]?.aborted).toBe(false);
    },
  );

  test('incomplete headers time out with 408', async () => {
    const served = await serve(echo);
    const client = await served.raw();
    client.send('GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    const drip = setInterval(() => client.send('a'), 500);
    expect(await client.ended().finally(() => clearInterval(drip))).toMatch(/^HTTP\/1\.1 408 .*"reason":"Timeout"/s);
  });

  test.each(['HTTP/1.1', 'HTTP/2'])('an %s client that does not read its answer is cut off', async (protocol) => {
    const clock = fakeClock();
    const signals: AbortSignal[] = [];
    const served = await serve((request) => {
      signals.push(request.signal);
      return { status: 200, headers: {}, body: Buffer.alloc(30_000_000) };
    }, clock);
    if (protocol === 'HTTP/2') {
      const stream = served.http2().request({ ':path': '/' });
      stream.on('error', () => {});
      stream.pause();
    } else {
      const client = await served.raw();
      client.socket.pause();
      client.send(get('/'));
    }
    await untilTurned(() => signals.length === 1);
    const begunMs = clock.monotonicMs();
    await untilTurned(() => {
      clock.advance(sweepMs); // several: the response proceeds until the buffers on its way are full
      return (signals[0] as AbortSignal).aborted;
    });
    expect(clock.monotonicMs() - begunMs).toBeGreaterThan(responseStallMs);
    expect(served.reports).toEqual([]);
  });

  test('idle connections of both protocols are closed, and those with pending requests are not', async () => {
    const clock = fakeClock();
    let answer = (): void => {};
    let ended = 0;
    const served = await serve((request) => {
      if (request.target === '/slow') return new Promise((resolve) => (answer = () => resolve(text('late'))));
      request.onEnd(() => (ended += 1));
      return text('quick');
    }, clock);
    const idle = await served.raw();
    idle.send(get('/quick'));
    await idle.until(/quick$/);
    const session = served.http2();
    await http2Answer(session.request({ ':path': '/quick' }));
    const busy = await served.raw();
    const before = answer;
    busy.send(get('/slow'));
    await untilTurned(() => answer !== before && ended === 2);
    clock.advance(idleTimeoutMs + 2_000);
    await idle.ended();
    await untilTurned(() => session.closed || session.destroyed);
    answer();
    await busy.until(/late$/);
  });

  test('a request that arrives while the process stalls is served, although its connection was idle too long', async () => {
    const clock = fakeClock();
    const served = await serve(({ target }) => text(target), clock);
    const client = await served.raw();
    client.send(get('/first'));
    await client.until(/first$/);
    // Sweeps are timers, and Node runs timers that are due before it reads what has arrived.
    await new Promise((resolve) => setTimeout(resolve));
    client.send(get('/second'));
    clock.advance(idleTimeoutMs + 2_000);
    await client.until(/second$/);
  });

  test('pipelined requests are served one after the other, each after the previous response', async () => {
    const begun: string[] = [];
    const answers: (() => void)[] = [];
    const served = await serve((request) => {
      begun.push(request.target);
      return new Promise((resolve) => answers.push(() => resolve(text(`<${request.target}>`))));
    });
    const client = await served.raw();
    client.send(['/0', '/1', '/2'].map((target) => get(target)).join(''));
    for (const at of [0, 1, 2]) {
      await untilTurned(() => answers.length === at + 1);
      expect(begun).toEqual(['/0', '/1', '/2'].slice(0, at + 1));
      answers[at]?.();
      await client.until(new RegExp(`</${at}>$`));
    }
  });

  test('pipelined requests after an unread response do not begin, and end with their connection', async () => {
    let begun = 0;
    let ended = 0;
    const served = await serve((request) => {
      begun += 1;
      request.onEnd(() => (ended += 1));
      return { status: 200, headers: {}, body: Buffer.alloc(32 * 1024 * 1024) };
    });
    const client = await served.raw();
    client.socket.pause();
    client.send(get('/').repeat(5));
    await untilTurned(() => begun === 1);
    // Meanwhile another connection is served completely.
    const other = await served.raw();
    other.send(get('/'));
    await other.until(/^HTTP\/1\.1 200/);
    expect(begun).toBe(2);
    client.socket.destroy();
    await untilTurned(() => ended === 1);
    other.socket.destroy();
    await untilTurned(() => ended === 2);
    expect(begun).toBe(2);
    expect(served.reports).toEqual([]);
  });

  test('excess pipelined requests are refused, and those before them are answered in order', async () => {
    const answered: string[] = [];
    const served = await serve(async (request) => {
      answered.push(request.target);
      await new Promise(setImmediate);
      return text(`<${request.target}>`);
    });
    const client = await served.raw();
    client.send(Array.from({ length: pipelinedRequestsMax + 5 }, (_, i) => get(`/${i}`)).join(''));
    const received = await client.ended();
    expect(answered).toEqual(Array.from({ length: pipelinedRequestsMax }, (_, i) => `/${i}`));
    expect([...received.matchAll(/<(\/\d+)>/g)].map(([, target]) => target)).toEqual(answered);
    expect(received).toMatch(/HTTP\/1\.1 429 .*Retry-After: 1/s);
  });

  test('a client that disconnects after pipelined requests and malformed bytes gets no more responses', async () => {
    let goodbyes = 0;
    const clock: Clock = {
      ...systemClock,
      after: (delayMs, callback) => {
        if (delayMs === lingerMs) goodbyes++;
        return systemClock.after(delayMs, callback);
      },
    };
    let ended = false;
    let answer: (() => void) | undefined;
    const served = await serve((request) => {
      request.onEnd(() => (ended = true));
      return new Promise((resolve) => (answer = () => resolve(text('x'.repeat(pieceBytes)))));
    }, clock);
    const client = await served.raw();
    client.send(`${Array.from({ length: 15 }, (_, i) => get(`/${i}`)).join('')}malformed\r\n\r\n`);
    await untilTurned(() => answer !== undefined);
    client.socket.destroy();
    await once(client.socket, 'close');
    answer?.(); // writing reveals that the client has disconnected
    await untilTurned(() => ended);
    await new Promise(setImmediate); // then each response closes
    expect(goodbyes).toBe(0);
    expect(served.reports).toEqual([]);
  });

  test('a flood of resets ends only the session that sends it', async () => {
    let begun = 0;
    const served = await serve((request) => {
      if (request.target === '/other') return text('served');
      begun += 1;
      return new Promise(() => {});
    });
    const attacker = await served.frames();
    let ended = false;
    attacker.socket.on('close', () => (ended = true));
    const resets = 20_000;
    const flood = Array.from({ length: resets }, (_, i) =>
      Buffer.concat([requestHeaders(2 * i + 1, packed.get), resetStream(2 * i + 1)]),
    );
    for (let i = 0; i < resets && !ended; i += 100) {
      attacker.send(Buffer.concat(flood.slice(i, i + 100)));
      await new Promise(setImmediate);
    }
    await attacker.ended();
    expect(begun).toBeLessThan(resets / 5);
    expect((await http2Answer(served.http2().request({ ':path': '/other' }))).text).toBe('served');
  });

  test('a client that half-closes its connection still gets its response', async () => {
    const pending = Promise.withResolvers<ApiResponse>();
    let begun = false;
    const served = await serve(({ target }) => {
      if (target === '/other') return text('served');
      begun = true;
      return pending.promise;
    });
    const client = await served.raw();
    client.send(get('/'));
    await untilTurned(() => begun);
    client.socket.end();
    await once(client.socket, 'finish');
    // The server reads the end of the first connection before a request that arrives later on another.
    const other = await served.raw();
    other.send(get('/other'));
    await other.until(/served$/);
    pending.resolve(text('answered'));
    expect(await client.ended()).toMatch(/answered$/);
  });
});

describe('vanished clients', () => {
  test('are detected over HTTP/2 by pings', async () => {
    const clock = fakeClock();
    const signals: AbortSignal[] = [];
    const served = await serve((request) => {
      signals.push(request.signal);
      return new Promise(() => {});
    }, clock);
    const mute = await served.frames(); // answers no ping
    mute.send(requestHeaders(1, packed.get));
    const session = served.http2();
    session.request({ ':path': '/' }).on('error', () => {});
    await untilTurned(() => signals.length === 2);
    for (let ms = 0; ms <= limits.pingIntervalMs + limits.pingTimeoutMs + 3_000; ms += limits.sweepMs) {
      clock.advance(limits.sweepMs);
      await new Promise((resolve) => session.ping(resolve));
    }
    await untilTurned(() => (signals[0] as AbortSignal).aborted);
    expect(signals[1]?.aborted).toBe(false);
  });

  test('do not delay the end of the server, and others are waited for', async () => {
    const clock = fakeClock();
    const answers: PromiseWithResolvers<ApiResponse>[] = [];
    const signals: AbortSignal[] = [];
    const served = await serve((request) => {
      if (request.target === '/other') return text('served');
      signals.push(request.signal);
      const pending = Promise.withResolvers<ApiResponse>();
      answers.push(pending);
      return pending.promise;
    }, clock);
    const mute = await served.frames(); // answers no ping
    mute.send(requestHeaders(1, packed.get));
    await untilTurned(() => signals.length === 1);
    const session = served.http2();
    const waiting = http2Answer(session.request({ ':path': '/' }));
    await untilTurned(() => signals.length === 2);
    const drained = served.listener.drain(limits.pingTimeoutMs);
    for (let ms = 0; ms <= limits.pingTimeoutWhileDrainingMs + 2_000; ms += limits.sweepMs) {
      clock.advance(limits.sweepMs);
      // Answers to pings have arrived when a later connection has been served.
      const other = served.http2();
      await http2Answer(other.request({ ':path': '/other' }));
      other.destroy();
    }
    await untilTurned(() => (signals[0] as AbortSignal).aborted);
    expect(signals[1]?.aborted).toBe(false);
    answers[1]?.resolve(text('answered'));
    expect((await waiting).text).toBe('answered');
    session.close();
    await drained;
  });
});
