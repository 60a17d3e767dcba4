import { describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { filledSource, sourceOf } from '../../test/body-source.ts';
import type { ApiResponse, Sink } from '../exchange.ts';
import { pieceBytes } from './limits.ts';
import { ping, requestHeaders, resetStream } from '@cluster-apiserver/testkit/http2-frames';
import {
  http2Answer,
  packed,
  protocols,
  type Sent,
  send,
  text,
  echo,
  get,
  post,
  useListener,
} from '../../test/listener.ts';

const serve = useListener();

/** The frame that acknowledges the settings of a client. */
const acknowledged = /\0\0\0\x04\x01\0\0\0\0/;

/** A clock that a test takes the event-loop iterations from, once a connection stands. Then its time stands still, too. */
function clockWithTurns() {
  let takenMs: number | undefined;
  const turns: (() => void)[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => takenMs ?? systemClock.monotonicMs(),
    soon: (callback) => (takenMs === undefined ? systemClock.soon(callback) : void turns.push(callback)),
  };
  return { clock, turns, takeTurns: () => void (takenMs = systemClock.monotonicMs()) };
}

describe('both protocols', () => {
  test('HTTP/1.1 requests on one connection are answered one after the other', async () => {
    const served = await serve(echo);
    const client = await served.raw();
    client.send(get('/a?b=c'));
    await client.until(/GET \/a\?b=c HTTP\/1\.1 0$/);
    client.send(post('/d', 'hello', 'Content-Length: 5'));
    await client.until(/POST \/d HTTP\/1\.1 5$/);
  });

  test('HTTP/2 requests are answered on their streams', async () => {
    const served = await serve(echo);
    const session = served.http2();
    const stream = session.request({ ':method': 'POST', ':path': '/d' });
    stream.end('hello');
    const answer = await http2Answer(stream);
    expect([answer.status, answer.text, answer.headers['content-length']]).toEqual([200, 'POST /d HTTP/2.0 5', '18']);
  });

  test('a hundred concurrent HTTP/2 streams each get their own response', async () => {
    const served = await serve(echo);
    const session = served.http2();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => {
        const stream = session.request({ ':method': 'POST', ':path': `/${i}` });
        stream.end(Buffer.alloc(10_000 + i));
        return http2Answer(stream);
      }),
    );
    expect(answers.map((answer) => answer.text)).toEqual(answers.map((_, i) => `POST /${i} HTTP/2.0 ${10_000 + i}`));
  });

  test('header lines stay separate, and header() returns the first one', async () => {
    const served = await serve((request) =>
      text(`${request.header('impersonate-group')} of ${request.headerLines('impersonate-group').join('|')}`),
    );
    const client = await served.raw();
    client.send(get('/', 'Impersonate-Group: a', 'impersonate-group: b, c'));
    await client.until(/a of a\|b, c$/);
    const stream = served.http2().request({ ':path': '/', 'impersonate-group': ['a', 'b, c'] });
    expect((await http2Answer(stream)).text).toBe('a of a|b, c');
  });

  test('a response to HEAD has a Content-Length and no body', async () => {
    const served = await serve(() => text('hello'));
    const client = await served.raw();
    client.send(`HEAD / HTTP/1.1\r\nHost: a\r\n\r\n${get('/next')}`);
    const received = await client.until(/hello$/);
    expect(received.match(/Content-Length: 5/g)).toHaveLength(2);
    expect(received.match(/hello/g)).toHaveLength(1);
    const answer = await http2Answer(served.http2().request({ ':method': 'HEAD', ':path': '/' }));
    expect([answer.headers['content-length'], answer.bytes.length]).toEqual(['5', 0]);
  });

  test.each(['one buffer', 'one string', 'ten thousand pieces'])(
    'a large answer of %s arrives whole and in order',
    async (form) => {
      const pieces = Array.from({ length: 10_000 }, (_, i) => Buffer.from(`${i};`.padEnd(800, '.')));
      const whole = Buffer.concat(pieces);
      const bodies: Record<string, () => ApiResponse['body']> = {
        'one buffer': () => whole,
        'one string': () => whole.toString('latin1'),
        'ten thousand pieces': () => sourceOf(pieces, whole.length),
      };
      const served = await serve(() => ({ status: 200, headers: {}, body: bodies[form]?.() }));
      const client = await served.raw();
      client.send(get('/') + get('/'));
      await untilTurned(() => client.receivedBytes() > 2 * whole.length);
      const second = client.received().split('HTTP/1.1 200').at(-1) as string;
      expect(second.slice(second.indexOf('\r\n\r\n') + 4) === whole.toString()).toBe(true);
      const answer = await http2Answer(served.http2().request({ ':path': '/' }));
      expect(answer.bytes.equals(whole)).toBe(true);
    },
  );

  test('responses with shared piece buffers do not mix, however slowly they are read', async () => {
    // Every byte identifies its response.
    const lengths = [20_000, pieceBytes, 5 * pieceBytes + 7];
    const served = await serve(({ target }) => {
      const mark = Number(target.slice(1));
      return { status: 200, headers: {}, body: filledSource(lengths[mark % lengths.length] as number, mark) };
    });
    const marks = Array.from({ length: 24 }, (_, i) => i + 0x41);
    const wanted = (mark: number): Buffer => Buffer.alloc(lengths[mark % lengths.length] as number, mark);
    const session = served.http2();
    const overHttp2 = marks.map(async (mark) => {
      const stream = session.request({ ':path': `/${mark}` });
      stream.pause();
      await once(stream, 'response');
      if (mark % 2 === 0) await new Promise((resolve) => session.ping(resolve));
      return (await buffer(stream)).equals(wanted(mark));
    });
    const overHttp1 = marks.map(async (mark) => {
      const client = await served.raw();
      client.send(get(`/${mark}`, 'Connection: close'));
      if (mark % 2 === 0) client.socket.pause();
      await new Promise((resolve) => session.ping(resolve));
      client.socket.resume();
      const answer = await client.ended();
      return answer.endsWith(`\r\n\r\n${wanted(mark)}`);
    });
    expect(await Promise.all([...overHttp2, ...overHttp1])).toEqual(Array(2 * marks.length).fill(true));
  });

  test('a complete chunked response is distinguishable from an aborted one', async () => {
    const answer = async function* (whole: boolean): AsyncGenerator<Buffer> {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(100_000, 'a');
      if (!whole) throw new Error('it broke off');
    };
    const served = await serve(({ target }) => ({
      status: 200,
      headers: {},
      body: sourceOf(answer(target === '/whole')),
    }));
    const client = await served.raw();
    client.send(get('/whole'));
    await client.until(/\r\n0\r\n\r\n$/);
    client.send(get('/broken'));
    expect(await client.ended()).not.toMatch(/\r\n0\r\n\r\n$/);
    const session = served.http2();
    expect((await http2Answer(session.request({ ':path': '/whole' }))).bytes.length).toBe(2_000_000);
    const broken = session.request({ ':path': '/broken' });
    broken.on('error', () => {}).resume();
    await new Promise((closed) => broken.on('close', closed));
    expect(broken.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });

  test('the headers of a stream are sent before its first byte, and bytes as they are written', async () => {
    const sinks: Sink[] = [];
    let end = (): void => {};
    const served = await serve(() => ({
      status: 200,
      headers: {},
      stream: (sink) => {
        sinks.push(sink);
        return new Promise((resolve) => (end = resolve));
      },
    }));
    const client = await served.raw();
    client.send(get('/'));
    await client.until(/\r\n\r\n$/);
    const sink = sinks[0] as Sink;
    sink.write(Buffer.from('one'));
    await client.until(/one\r\n$/);
    await sink.drained();
    expect(sink.backlogBytes).toBe(0);
    end();
    await client.until(/\r\n0\r\n\r\n$/);

    const stream = served.http2().request({ ':path': '/' });
    let received = '';
    stream.on('data', (piece: Buffer) => (received += piece));
    await untilTurned(() => sinks.length === 2);
    sinks[1]?.write(Buffer.from('two'));
    await untilTurned(() => received === 'two');
    await sinks[1]?.drained();
    end();
  });

  test.each(protocols)(
    'over %s a stream to a client that does not read has a backlog, and drained() waits until the client disconnects',
    async (protocol) => {
      const sinks: Sink[] = [];
      const served = await serve(() => ({
        status: 200,
        headers: {},
        stream: async (sink) => {
          sinks.push(sink);
          while (sink.backlogBytes < 1_000_000) {
            sink.write(Buffer.alloc(100_000));
            await new Promise(setImmediate);
          }
          await sink.drained();
        },
      }));
      const client = protocol === 'HTTP/2' ? await served.frames() : await served.raw();
      client.socket.pause();
      client.send(protocol === 'HTTP/2' ? requestHeaders(1, packed.get) : get('/'));
      await untilTurned(() => (sinks[0]?.backlogBytes ?? 0) >= 1_000_000);
      client.socket.destroy();
      await untilTurned(() => (sinks[0] as Sink).signal.aborted);
      await (sinks[0] as Sink).drained();
      expect(served.reports).toEqual([]);
    },
  );

  test('a response with invalid headers becomes a 500', async () => {
    const served = await serve(() => ({ status: 200, headers: { Warning: 'a\r\nb: c' }, body: Buffer.from('x') }));
    const client = await served.raw();
    client.send(get('/'));
    await client.until(/^HTTP\/1\.1 500 .*"reason":"InternalError","code":500}$/s);
    expect((await http2Answer(served.http2().request({ ':path': '/' }))).status).toBe(500);
    expect(served.reports).toHaveLength(2);
  });

  test('requests of one event loop iteration are processed together, in order', async () => {
    const { clock, turns, takeTurns } = clockWithTurns();
    const handled: string[] = [];
    const served = await serve(({ target }) => {
      handled.push(target);
      return text(target);
    }, clock);
    const targets = ['/a', '/b', '/c'];
    const client = await served.frames();
    await client.until(acknowledged);
    takeTurns();
    client.send(Buffer.concat(targets.map((target, at) => requestHeaders(2 * at + 1, packed.getOf(target)))));
    await untilTurned(() => turns.length > 0);
    expect(handled).toEqual([]);
    for (const turn of turns.splice(0)) turn();
    expect(handled).toEqual(targets);
    await client.until(/\/a.*\/b.*\/c/s);
    // The responses were sent in the same iteration.
    expect(turns).toEqual([]);
  });

  test.each(['HTTP/1.1', 'HTTP/2'])(
    'a request over %s whose client disconnects before its turn is skipped',
    async (protocol) => {
      const { clock, turns, takeTurns } = clockWithTurns();
      const handled: string[] = [];
      const served = await serve(({ target }) => {
        handled.push(target);
        return text('late');
      }, clock);
      if (protocol === 'HTTP/2') {
        const client = await served.frames();
        await client.until(acknowledged);
        takeTurns();
        client.send(requestHeaders(1, packed.get));
        await untilTurned(() => turns.length > 0);
        client.send(Buffer.concat([resetStream(1), ping(Buffer.alloc(8))]));
        await client.until(/\x06\x01\0\0\0\0/); // the answer to the ping
      } else {
        const tcp = connectTcp(served.listener.port, '127.0.0.1');
        const client = connectTls({ socket: tcp, rejectUnauthorized: false });
        client.on('error', () => {});
        await once(client, 'secureConnect');
        takeTurns();
        client.write(get('/'));
        await untilTurned(() => turns.length > 0);
        tcp.resetAndDestroy();
        await served.listener.drain(10_000); // resolves once the client is gone
      }
      for (const turn of turns.splice(0)) turn();
      expect(handled).toEqual([]);
      expect(turns).toEqual([]);
      expect(served.reports).toEqual([]);
    },
  );

  test.each(protocols)('over %s a handler that throws or rejects returns 500', async (protocol) => {
    const served = await serve((request) => {
      if (request.target === '/thrown') throw new Error('thrown');
      return Promise.reject(new Error('rejected'));
    });
    for (const target of ['/thrown', '/rejected']) {
      const answer = await send(served, protocol, { target });
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
        500,
        { kind: 'Status', reason: 'InternalError' },
      ]);
    }
    // The message has no text of the client: the log limits the rate per message.
    expect(served.reports).toEqual([
      'answering a request failed: GET: /thrown: Error: thrown',
      'answering a request failed: GET: /rejected: Error: rejected',
    ]);
  });

  test.each(protocols)('over %s header lines stay separate, and none is lost', async (protocol) => {
    const served = await serve((request) => text(JSON.stringify(request.headersFrom('x-'))));
    const values = ['a', 'b, c', 'd;e="f"', 'grün', '', 'x'.repeat(8_000)];
    const headers = { 'x-one': values };
    const client = await send(served, protocol, { headers: { ...headers, 'x-two': 'g' } }).catch(() => undefined);
    expect(JSON.parse(client?.text ?? '')).toEqual([...values.map((value) => ['x-one', value]), ['x-two', 'g']]);
  });

  const refusals: readonly (readonly [string, Sent, number])[] = [
    ['the asterisk', { method: 'OPTIONS', target: '*' }, 400],
    ['an unknown expectation', { headers: { expect: 'miracles' } }, 417],
  ];
  describe.each(protocols)('over %s', (protocol) => {
    test.each(refusals)('%s is refused with a Status before the handler', async (_, sent, code) => {
      let asked = 0;
      const served = await serve(() => {
        asked += 1;
        return text('seen');
      });
      const answer = await send(served, protocol, sent);
      expect([answer.status, JSON.parse(answer.text)]).toMatchObject([code, { kind: 'Status', code }]);
      expect(asked).toBe(0);
    });

    test.each([0, 1, 16_384, 65_536, 999_999])('a body of %i bytes arrives whole', async (bytes) => {
      const served = await serve(echo);
      const answer = await send(served, protocol, { method: 'POST', target: '/b', body: Buffer.alloc(bytes, 'x') });
      expect(answer.text).toBe(`POST /b ${protocol === 'HTTP/2' ? 'HTTP/2.0' : protocol} ${bytes}`);
    });

    test('a body over the limit is answered 413, and one at the limit is not', async () => {
      const served = await serve(echo);
      expect((await send(served, protocol, { method: 'POST', body: Buffer.alloc(1_000_000) })).status).toBe(200);
      expect((await send(served, protocol, { method: 'POST', body: Buffer.alloc(1_000_001) })).status).toBe(413);
    });

    test('an unread body does not prevent the response', async () => {
      const served = await serve(() => text('unread'));
      for (const bytes of [50_000, 900_000]) {
        const answer = await send(served, protocol, { method: 'POST', body: Buffer.alloc(bytes) });
        expect([answer.status, answer.text]).toEqual([200, 'unread']);
      }
    });
  });
});
