import { describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { systemClock } from '@cluster-apiserver/base';
import { constants } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import type { ApiRequest, Handler, Sink } from '../exchange.ts';
import { http2Answer, text, get, useListener } from '../../test/listener.ts';

const serve = useListener();

describe('draining', () => {
  test('draining under load of both protocols loses no request', async () => {
    const begun: string[] = [];
    const served = await serve(async (request) => {
      begun.push(request.target);
      await new Promise((resolve) => setTimeout(resolve, 2));
      return text(request.target);
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
    const failures: string[] = [];
    let answered = 0;
    let stop = false;
    const overHttp1 = (path: string): Promise<void> =>
      new Promise((resolve) => {
        httpsRequest({ host: '127.0.0.1', port: served.listener.port, agent, path }, (response) => {
          response.resume();
          response.on('end', () => {
            answered += 1;
            resolve();
          });
        })
          .on('error', (error: NodeJS.ErrnoException) => {
            if (!stop) failures.push(`HTTP/1.1: ${error.message}`);
            resolve();
          })
          .end();
      });
    let session = served.http2();
    const overHttp2 = async (path: string): Promise<void> => {
      if (session.closed || session.destroyed) session = served.http2();
      const used = session;
      const stream = used.request({ ':path': path });
      try {
        await http2Answer(stream);
        answered += 1;
      } catch (error) {
        // A refused request has not begun, so clients repeat it. Node's client sends one after its own GOAWAY, which
        // answers ours, if a response and our GOAWAY arrive together.
        if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM && used.closed) return overHttp2(path);
        if (!stop) failures.push(`HTTP/2: ${error}`);
      }
    };
    const clients = [0, 1, 2, 3]
      .flatMap(() => [overHttp1, overHttp2])
      .map(async (call, client) => {
        for (let i = 0; !stop; i += 1) await call(`/${client}/${i}`);
      });
    await untilTurned(() => answered > 200);
    const before = answered;
    const drained = served.listener.drain(60_000); // ends earlier, with the clients
    await untilTurned(() => answered > before + 200);
    stop = true;
    await Promise.all(clients);
    agent.destroy();
    session.close();
    await drained;
    await served.listener.close(1_000);
    expect(failures).toEqual([]);
    expect(new Set(begun).size).toBe(begun.length);
  });

  test('draining closes HTTP/1.1 connections with their response, ends streams, and serves new connections', async () => {
    const sinks: Sink[] = [];
    const served = await serve((request) => {
      if (request.target !== '/watch') return text('answer');
      return {
        status: 200,
        headers: {},
        stream: async (sink) => {
          sinks.push(sink);
          await new Promise((resolve) => sink.draining.addEventListener('abort', resolve));
          sink.write(Buffer.from('bye'));
        },
      };
    });
    const watcher = await served.raw();
    watcher.send(get('/watch'));
    const idle = await served.raw();
    idle.send(get('/'));
    await idle.until(/answer$/);
    await untilTurned(() => sinks.length === 1);
    const drained = served.listener.drain(60_000);
    await watcher.until(/bye\r\n0\r\n\r\n$/);
    idle.send(get('/'));
    expect(await idle.ended()).toMatch(/Connection: close.*answer$/s);
    const late = await served.raw();
    late.send(get('/'));
    expect(await late.ended()).toMatch(/200 OK.*Connection: close.*answer$/s);
    watcher.socket.destroy();
    await drained;
  });

  test('a drain ends when the connections of its beginning have closed', async () => {
    const served = await serve(() => text('answer'));
    const present = await served.raw();
    present.send(get('/'));
    await present.until(/answer$/);
    const drained = served.listener.drain(60_000);
    const newcomers = [await served.raw(), await served.raw()];
    present.socket.destroy();
    await drained; // without waiting 60 s for the new connections
    for (const newcomer of newcomers) {
      newcomer.send(get('/'));
      expect(await newcomer.ended()).toMatch(/200 OK.*Connection: close.*answer$/s);
    }
  });

  test('an HTTP/2 session gets GOAWAY, and its requests are still answered, also those sent after it', async () => {
    const answers: (() => void)[] = [];
    const served = await serve(() => new Promise((resolve) => answers.push(() => resolve(text('answer')))));
    const session = served.http2();
    const first = http2Answer(session.request({ ':path': '/' }));
    await untilTurned(() => answers.length === 1);
    const goaways: unknown[] = [];
    session.on('goaway', (code, last) => goaways.push([code, last]));
    const drained = served.listener.drain(60_000);
    await untilTurned(() => goaways.length > 0);
    expect(goaways[0]).toEqual([0, 2 ** 31 - 1]);
    answers[0]?.();
    expect((await first).text).toBe('answer');
    await drained;
  });

  test('an HTTP/2 client gets GOAWAY with the given probability, and its open streams continue', async () => {
    const sinks: Sink[] = [];
    const streaming: Handler<ApiRequest> = ({ target }) =>
      target === '/watch'
        ? {
            status: 200,
            headers: {},
            stream: (sink) => {
              sinks.push(sink);
              return new Promise<void>((resolve) => sink.signal.addEventListener('abort', () => resolve()));
            },
          }
        : text('answer');
    const served = await serve(streaming, systemClock, { goawayChance: 1 });
    const session = served.http2();
    let goaways = 0;
    session.on('goaway', () => (goaways += 1));
    const watch = session.request({ ':path': '/watch' });
    let received = '';
    watch.on('data', (piece: Buffer) => (received += piece));
    await untilTurned(() => sinks.length === 1 && goaways > 0);
    sinks[0]?.write(Buffer.from('still here'));
    await untilTurned(() => received === 'still here');
    expect(sinks[0]?.draining.aborted).toBe(false);
    // HTTP/1.1 has no GOAWAY.
    const client = await served.raw();
    client.send(get('/'));
    expect(await client.until(/answer$/)).not.toMatch(/Connection: close/i);
    watch.close();
    await untilTurned(() => session.closed);
  });

  test('with probability 0 no client gets GOAWAY', async () => {
    const served = await serve(() => text('answer'));
    const session = served.http2();
    let goaways = 0;
    session.on('goaway', () => (goaways += 1));
    for (let n = 0; n < 200; n++) await http2Answer(session.request({ ':path': '/' }));
    expect(goaways).toBe(0);
  });

  test('the settings tell a client how many streams it may open', async () => {
    const served = await serve(() => text('answer'), systemClock, { streamsMax: 7 });
    const session = served.http2();
    await new Promise((settings) => session.once('remoteSettings', settings));
    expect(session.remoteSettings.maxConcurrentStreams).toBe(7);
  });

  test('closing waits for pending responses and cuts off the rest at the limit', async () => {
    let answer = (): void => {};
    const served = await serve((request) =>
      request.target === '/never'
        ? new Promise(() => {})
        : new Promise((resolve) => (answer = () => resolve(text('late')))),
    );
    const patient = await served.raw();
    const before = answer;
    patient.send(get('/late'));
    await untilTurned(() => answer !== before);
    const stuck = await served.raw();
    stuck.send(get('/never'));
    const idle = await served.raw();
    const closed = served.listener.close(300);
    answer();
    expect(await patient.ended()).toMatch(/Connection: close.*late$/s);
    await closed;
    expect(await stuck.ended()).toBe('');
    await idle.ended();
  });
});
