import { afterEach, describe, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import { once } from 'node:events';
import { constants } from 'node:http2';
import { Agent, request as httpsRequest } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import type { ApiRequest, ApiResponse, Handler, Pieces, Sink } from '../exchange.ts';
import { BodyTooLargeError, BodyTooSlowError, ClientGoneError } from '../exchange.ts';
import {
  answerStallMs,
  bodyGraceMs,
  headBytesMax,
  idleTimeoutMs,
  lingerMs,
  pieceBytes,
  pipelinedRequestsMax,
} from './limits.ts';
import {
  cancel,
  endHeaders,
  endStream,
  eventually,
  frame,
  handClock,
  http2Answer,
  packed,
  protocols,
  type Sent,
  type Served,
  send,
  serve,
} from '../../test/listener.ts';

let served: Served;
afterEach(() => served.close());

const text = (body: string, status = 200): ApiResponse => ({
  status,
  headers: { 'Content-Type': 'text/plain' },
  body: Buffer.from(body),
});

/** Answers with what it saw, so that a test can tell which request an answer belongs to. */
const echo: Handler<ApiRequest> = async (request) => {
  try {
    const body = await request.body(1_000_000);
    return text(`${request.method} ${request.target} ${request.protocol} ${body.length}`);
  } catch (error) {
    if (error instanceof BodyTooLargeError) return text('too large', 413);
    if (error instanceof BodyTooSlowError) return text('too slow', 408);
    throw error;
  }
};

const get = (target: string, ...headers: string[]): string =>
  [`GET ${target} HTTP/1.1`, 'Host: a', ...headers, '', ''].join('\r\n');
const post = (target: string, body: string, ...headers: string[]): string =>
  [`POST ${target} HTTP/1.1`, 'Host: a', ...headers, '', body].join('\r\n');

describe('both protocols', () => {
  test('HTTP/1.1 requests on one connection are answered one after the other', async () => {
    served = await serve(echo);
    const client = await served.raw();
    client.send(get('/a?b=c'));
    await client.until(/GET \/a\?b=c HTTP\/1\.1 0$/);
    client.send(post('/d', 'hello', 'Content-Length: 5'));
    await client.until(/POST \/d HTTP\/1\.1 5$/);
  });

  test('HTTP/2 requests are answered on their streams', async () => {
    served = await serve(echo);
    const session = served.http2();
    const stream = session.request({ ':method': 'POST', ':path': '/d' });
    stream.end('hello');
    const answer = await http2Answer(stream);
    expect([answer.status, answer.body.toString(), answer.headers['content-length']]).toEqual([
      200,
      'POST /d HTTP/2.0 5',
      '18',
    ]);
  });

  test('a hundred HTTP/2 streams at once get each its own answer', async () => {
    served = await serve(echo);
    const session = served.http2();
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => {
        const stream = session.request({ ':method': 'POST', ':path': `/${i}` });
        stream.end(Buffer.alloc(10_000 + i));
        return http2Answer(stream);
      }),
    );
    expect(answers.map(({ body }) => body.toString())).toEqual(
      answers.map((_, i) => `POST /${i} HTTP/2.0 ${10_000 + i}`),
    );
  });

  test('header lines stay apart, and the first one counts where one is asked for', async () => {
    served = await serve((request) =>
      text(`${request.header('impersonate-group')} of ${request.headerLines('impersonate-group').join('|')}`),
    );
    const client = await served.raw();
    client.send(get('/', 'Impersonate-Group: a', 'impersonate-group: b, c'));
    await client.until(/a of a\|b, c$/);
    const stream = served.http2().request({ ':path': '/', 'impersonate-group': ['a', 'b, c'] });
    expect((await http2Answer(stream)).body.toString()).toBe('a of a|b, c');
  });

  test('an answer to HEAD has the length and no body', async () => {
    served = await serve(() => text('hello'));
    const client = await served.raw();
    client.send(`HEAD / HTTP/1.1\r\nHost: a\r\n\r\n${get('/next')}`);
    const received = await client.until(/hello$/);
    expect(received.match(/Content-Length: 5/g)).toHaveLength(2);
    expect(received.match(/hello/g)).toHaveLength(1);
    const answer = await http2Answer(served.http2().request({ ':method': 'HEAD', ':path': '/' }));
    expect([answer.headers['content-length'], answer.body.length]).toEqual(['5', 0]);
  });

  test.each(['one buffer', 'one string', 'ten thousand pieces'])(
    'a large answer of %s arrives whole and in order',
    async (form) => {
      const pieces = Array.from({ length: 10_000 }, (_, i) => Buffer.from(`${i};`.padEnd(800, '.')));
      const whole = Buffer.concat(pieces);
      const bodies: Record<string, ApiResponse['body']> = {
        'one buffer': whole,
        'one string': whole.toString('latin1'),
        'ten thousand pieces': { length: whole.length, pieces: () => pieces },
      };
      const body = bodies[form];
      served = await serve(() => ({ status: 200, headers: {}, ...(body && { body }) }));
      const client = await served.raw();
      client.send(get('/') + get('/'));
      await eventually(() => client.receivedBytes() > 2 * whole.length);
      const second = client.received().split('HTTP/1.1 200').at(-1) as string;
      expect(second.slice(second.indexOf('\r\n\r\n') + 4) === whole.toString()).toBe(true);
      const answer = await http2Answer(served.http2().request({ ':path': '/' }));
      expect(answer.body.equals(whole)).toBe(true);
    },
  );

  test('answers whose pieces share memory do not mix, however slowly they are read', async () => {
    // Every byte of an answer tells whose it is.
    const pieces = (mark: number, length: number): Pieces => ({
      length,
      pieces: function* (pieceBytes, room) {
        for (let left = length; left > 0; ) {
          const piece = room(Math.min(left, pieceBytes)).fill(mark);
          left -= piece.length;
          yield piece;
        }
      },
    });
    const lengths = [20_000, pieceBytes, 5 * pieceBytes + 7];
    served = await serve(({ target }) => {
      const mark = Number(target.slice(1));
      return { status: 200, headers: {}, body: pieces(mark, lengths[mark % lengths.length] as number) };
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

  test('an answer of unknown length is told apart from one that broke off', async () => {
    const answer = async function* (whole: boolean): AsyncGenerator<Buffer> {
      for (let n = 0; n < 20; n++) yield Buffer.alloc(100_000, 'a');
      if (!whole) throw new Error('it broke off');
    };
    served = await serve(({ target }) => ({
      status: 200,
      headers: {},
      body: { flow: () => answer(target === '/whole') },
    }));
    const client = await served.raw();
    client.send(get('/whole'));
    await client.until(/\r\n0\r\n\r\n$/);
    client.send(get('/broken'));
    expect(await client.ended()).not.toMatch(/\r\n0\r\n\r\n$/);
    const session = served.http2();
    expect((await http2Answer(session.request({ ':path': '/whole' }))).body.length).toBe(2_000_000);
    const broken = session.request({ ':path': '/broken' });
    broken.on('error', () => {}).resume();
    await new Promise((closed) => broken.on('close', closed));
    expect(broken.rstCode).toBe(constants.NGHTTP2_INTERNAL_ERROR);
  });

  test('headers of a stream leave before its first byte, and the bytes as they are written', async () => {
    const sinks: Sink[] = [];
    let end = (): void => {};
    served = await serve(() => ({
      status: 200,
      headers: {},
      body: {
        stream: (sink) => {
          sinks.push(sink);
          return new Promise((resolve) => (end = resolve));
        },
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
    await eventually(() => sinks.length === 2);
    sinks[1]?.write(Buffer.from('two'));
    await eventually(() => received === 'two');
    await sinks[1]?.drained();
    end();
  });

  test.each(protocols)(
    'over %s a stream to a client that does not read grows a backlog, and drained() waits until the client is gone',
    async (protocol) => {
      const sinks: Sink[] = [];
      served = await serve(() => ({
        status: 200,
        headers: {},
        body: {
          stream: async (sink) => {
            sinks.push(sink);
            while (sink.backlogBytes < 1_000_000) {
              sink.write(Buffer.alloc(100_000));
              await new Promise(setImmediate);
            }
            await sink.drained();
          },
        },
      }));
      const client = protocol === 'HTTP/2' ? await served.frames() : await served.raw();
      client.socket.pause();
      client.send(protocol === 'HTTP/2' ? frame('HEADERS', endHeaders | endStream, 1, packed.get) : get('/'));
      await eventually(() => (sinks[0]?.backlogBytes ?? 0) >= 1_000_000);
      client.socket.destroy();
      await eventually(() => (sinks[0] as Sink).signal.aborted);
      await (sinks[0] as Sink).drained();
      expect(served.reports).toEqual([]);
    },
  );

  test('an answer whose headers cannot be sent becomes a 500 and not a crash', async () => {
    served = await serve(() => ({ status: 200, headers: { Warning: 'a\r\nb: c' }, body: Buffer.from('x') }));
    const client = await served.raw();
    client.send(get('/'));
    await client.until(/^HTTP\/1\.1 500 .*"reason":"InternalError","code":500}$/s);
    expect((await http2Answer(served.http2().request({ ':path': '/' }))).status).toBe(500);
    expect(served.reports).toHaveLength(2);
  });

  test('what arrives in one turn of the event loop is worked on together, in its order', async () => {
    let byHand = false;
    const turns: (() => void)[] = [];
    const handled: string[] = [];
    const clock = {
      ...systemClock,
      soon: (callback: () => void) => (byHand ? void turns.push(callback) : systemClock.soon(callback)),
    };
    served = await serve(({ target }) => {
      handled.push(target);
      return text(target);
    }, clock);
    const targets = ['/a', '/b', '/c'];
    const client = await served.frames();
    await client.until(/\0\0\0\x04\x01\0\0\0\0/); // its settings are acknowledged
    byHand = true;
    client.send(
      Buffer.concat(
        targets.map((target, at) => frame('HEADERS', endHeaders | endStream, 2 * at + 1, packed.getOf(target))),
      ),
    );
    await eventually(() => turns.length > 0);
    expect(handled).toEqual([]);
    for (const turn of turns.splice(0)) turn();
    expect(handled).toEqual(targets);
    await client.until(/\/a.*\/b.*\/c/s);
    // Its answers left in the same turn.
    expect(turns).toEqual([]);
  });

  test.each(['HTTP/1.1', 'HTTP/2'])(
    'a request over %s whose client leaves before its turn is skipped',
    async (protocol) => {
      const turns: (() => void)[] = [];
      const clock = { ...systemClock, soon: (callback: () => void) => void turns.push(callback) };
      const handled: string[] = [];
      served = await serve(({ target }) => {
        handled.push(target);
        return text('late');
      }, clock);
      if (protocol === 'HTTP/2') {
        const client = await served.frames();
        client.send(frame('HEADERS', endHeaders | endStream, 1, packed.get));
        await eventually(() => turns.length > 0);
        client.send(Buffer.concat([frame('RST_STREAM', 0, 1, cancel), frame('PING', 0, 0, Buffer.alloc(8))]));
        await client.until(/\x06\x01\0\0\0\0/); // the answer to the ping
      } else {
        const tcp = connectTcp(served.listener.port, '127.0.0.1');
        const client = connectTls({ socket: tcp, rejectUnauthorized: false });
        client.on('error', () => {});
        client.write(get('/'));
        await eventually(() => turns.length > 0);
        tcp.resetAndDestroy();
        await served.listener.drain(10_000); // resolves once the client is gone
      }
      for (const turn of turns.splice(0)) turn();
      expect(handled).toEqual([]);
      expect(turns).toEqual([]);
      expect(served.reports).toEqual([]);
    },
  );

  test.each(protocols)('over %s a handler that throws or rejects is answered for', async (protocol) => {
    served = await serve((request) => {
      if (request.target === '/thrown') throw new Error('thrown');
      return Promise.reject(new Error('rejected'));
    });
    for (const target of ['/thrown', '/rejected']) {
      const { status, body } = await send(served, protocol, { target });
      expect([status, JSON.parse(body.toString())]).toMatchObject([500, { kind: 'Status', reason: 'InternalError' }]);
    }
    // The client's words are no part of the message: the log is limited by its messages.
    expect(served.reports).toEqual([
      'answering a request failed: GET: /thrown: Error: thrown',
      'answering a request failed: GET: /rejected: Error: rejected',
    ]);
  });

  test.each(protocols)('over %s header lines stay apart, and none is lost', async (protocol) => {
    served = await serve((request) => text(JSON.stringify(request.headersFrom('x-'))));
    const values = ['a', 'b, c', 'd;e="f"', 'grün', '', 'x'.repeat(8_000)];
    const headers = { 'x-one': values };
    const client = await send(served, protocol, { headers: { ...headers, 'x-two': 'g' } }).catch(() => undefined);
    expect(JSON.parse(client?.body.toString() ?? '')).toEqual([
      ...values.map((value) => ['x-one', value]),
      ['x-two', 'g'],
    ]);
  });

  const refusals: readonly (readonly [string, Sent, number])[] = [
    ['the asterisk', { method: 'OPTIONS', target: '*' }, 400],
    ['an unknown expectation', { headers: { expect: 'miracles' } }, 417],
  ];
  describe.each(protocols)('over %s', (protocol) => {
    test.each(refusals)('%s is refused with a Status, and the handler is not asked', async (_, sent, code) => {
      let asked = 0;
      served = await serve(() => {
        asked += 1;
        return text('seen');
      });
      const { status, body } = await send(served, protocol, sent);
      expect([status, JSON.parse(body.toString())]).toMatchObject([code, { kind: 'Status', code }]);
      expect(asked).toBe(0);
    });

    test.each([0, 1, 16_384, 65_536, 999_999])('a body of %i bytes arrives whole', async (bytes) => {
      served = await serve(echo);
      const { body } = await send(served, protocol, { method: 'POST', target: '/b', body: Buffer.alloc(bytes, 'x') });
      expect(body.toString()).toBe(`POST /b ${protocol === 'HTTP/2' ? 'HTTP/2.0' : protocol} ${bytes}`);
    });

    test('a body over the limit is answered 413, and one at the limit is not', async () => {
      served = await serve(echo);
      expect((await send(served, protocol, { method: 'POST', body: Buffer.alloc(1_000_000) })).status).toBe(200);
      expect((await send(served, protocol, { method: 'POST', body: Buffer.alloc(1_000_001) })).status).toBe(413);
    });

    test('a body that nobody reads does not keep the answer away', async () => {
      served = await serve(() => text('unread'));
      for (const bytes of [50_000, 900_000]) {
        const { status, body } = await send(served, protocol, { method: 'POST', body: Buffer.alloc(bytes) });
        expect([status, body.toString()]).toEqual([200, 'unread']);
      }
    });
  });
});

describe('messages that two readers could read differently', () => {
  const cases: [string, string, number][] = [
    ['an unknown transfer encoding', post('/', '0\r\n\r\n', 'Transfer-Encoding: xchunked'), 400],
    ['an encoding before chunked', post('/', '0\r\n\r\n', 'Transfer-Encoding: gzip, chunked'), 400],
    ['chunked twice', post('/', '0\r\n\r\n', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked'), 400],
    ['chunked that is not last', post('/', '0\r\n\r\n', 'Transfer-Encoding: chunked, identity'), 400],
    ['transfer encoding in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n', 400],
    ['a length and an encoding', post('/', '0\r\n\r\n', 'Content-Length: 5', 'Transfer-Encoding: chunked'), 400],
    ['two lengths', post('/', 'hello', 'Content-Length: 5', 'Content-Length: 6'), 400],
    ['two equal lengths', post('/', 'hello', 'Content-Length: 5', 'Content-Length: 5'), 400],
    ['a list of lengths', post('/', 'hello', 'Content-Length: 5, 5'), 400],
    ['a length with a sign', post('/', 'hello', 'Content-Length: +5'), 400],
    ['a negative length', post('/', 'hello', 'Content-Length: -5'), 400],
    ['a hexadecimal length', post('/', 'hello', 'Content-Length: 0x5'), 400],
    ['a length beyond all numbers', post('/', 'hello', `Content-Length: ${'9'.repeat(40)}`), 400],
    ['no host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two hosts', get('/', 'host: b'), 400],
    ['an absolute target', get('http://other/'), 400],
    ['a target of another scheme', get('ftp://other/'), 400],
    ['the asterisk', 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['a target without a slash', get('api'), 400],
    ['CONNECT', 'CONNECT other:443 HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a space before the colon', get('/', 'X-A : b'), 400],
    ['a folded header', get('/', 'X-A: b', ' c'), 400],
    ['a header without a name', get('/', ': b'), 400],
    ['a NUL in a header', get('/', 'X-A: b\0c'), 400],
    ['a carriage return in a header', get('/', 'X-A: b\rX-B: c'), 400],
    ['lines that end in a bare line feed', 'GET / HTTP/1.1\nHost: a\n\n', 400],
    ['a chunk length with a sign', post('/', '-1\r\nx\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'), 400],
    ['a chunk length with spaces', post('/', ' 1\r\nx\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'), 400],
    ['a chunk longer than it says', post('/', '1\r\nxyz\r\n0\r\n\r\n', 'Transfer-Encoding: chunked'), 400],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
    ['an unknown version', 'GET / HTTP/3.0\r\nHost: a\r\n\r\n', 400],
    ['no version', 'GET /\r\n\r\n', 400],
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['an unknown expectation', get('/', 'Expect: miracles'), 417],
    ['a head that is too long', get(`/${'a'.repeat(headBytesMax)}`), 431],
    ['a header that is too long', get('/', `X-A: ${'a'.repeat(headBytesMax)}`), 431],
    ['too many headers', get('/', ...Array.from({ length: 1_001 }, () => 'A: b')), 431],
  ];
  test.each(cases)(
    '%s is refused with a Status, and nothing behind it on the connection is read',
    async (_what, message, status) => {
      const seen: string[] = [];
      served = await serve(async (request) => {
        await request.body(1_000);
        seen.push(request.target);
        return text('seen');
      });
      const client = await served.raw();
      client.send(message + get('/smuggled'));
      const received = await client.ended();
      expect(received).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
      expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1);
      expect(received.toLowerCase()).toContain('connection: close');
      expect(JSON.parse(received.slice(received.indexOf('\r\n\r\n') + 4))).toMatchObject({
        kind: 'Status',
        code: status,
      });
      expect(seen).toEqual([]);
    },
  );

  test('a request that came whole before a broken one is answered first', async () => {
    let answer: (() => void) | undefined;
    served = await serve(() => new Promise((resolve) => (answer = () => resolve(text('first')))));
    const client = await served.raw();
    client.send(`${get('/')}broken\r\n\r\n`);
    await eventually(() => answer !== undefined);
    answer?.();
    expect(await client.ended()).toMatch(/^HTTP\/1\.1 200 .*firstHTTP\/1\.1 400 .*"code":400}$/s);
  });

  test('an HTTP/2 body that is nothing but its end is empty', async () => {
    served = await serve(echo);
    const client = await served.frames();
    client.send(Buffer.concat([frame('HEADERS', endHeaders, 1, packed.post), frame('DATA', endStream, 1)]));
    await client.until(/POST \/ HTTP\/2\.0 0/);
  });

  test('over HTTP/2 CONNECT is refused with a Status', async () => {
    served = await serve(() => text('seen'));
    const answer = await http2Answer(served.http2().request({ ':method': 'CONNECT', ':authority': 'a' }));
    expect([answer.status, JSON.parse(answer.body.toString()).code]).toEqual([405, 405]);
  });

  test.each([
    ['to another protocol', get('/', 'Connection: Upgrade', 'Upgrade: h2c'), 'GET / HTTP/1.1 0'],
    ['without the word in Connection', get('/', 'Upgrade: websocket'), 'GET / HTTP/1.1 0'],
    [
      'with a body',
      post('/', 'hello', 'Connection: Upgrade', 'Upgrade: websocket', 'Content-Length: 5'),
      'POST / HTTP/1.1 5',
    ],
  ])('an upgrade that is offered %s is not taken', async (_, request, answer) => {
    served = await serve(echo);
    const client = await served.raw();
    client.send(request);
    expect(await client.until(/HTTP\/1\.1 \d$/)).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(client.received().endsWith(answer)).toBe(true);
    client.send(get('/next'));
    await client.until(/GET \/next HTTP\/1\.1 0$/);
  });
});

describe('bodies', () => {
  test.each([
    ['with its length', (bytes: number) => `Content-Length: ${bytes}`],
    ['in chunks', () => 'Transfer-Encoding: chunked'],
  ])('a body over the limit %s is answered 413 while the client still sends', async (_form, header) => {
    served = await serve(echo);
    const client = await served.raw();
    const bytes = 20_000_000;
    client.send(post('/', '', header(bytes)));
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')]);
    for (let i = 0; i < 300; i += 1) client.send(chunk);
    expect(await client.until(/too large/)).toMatch(/^HTTP\/1\.1 413 .*Connection: close/s);
  });

  test('over HTTP/2 a body over the limit is answered 413 and other streams go on', async () => {
    served = await serve(echo);
    const session = served.http2();
    const large = session.request({ ':method': 'POST', ':path': '/' });
    const answered = http2Answer(large);
    for (let i = 0; i < 100; i += 1) large.write(Buffer.alloc(65_536));
    expect((await answered).status).toBe(413);
    expect((await http2Answer(session.request({ ':path': '/after' }))).body.toString()).toBe('GET /after HTTP/2.0 0');
  });

  test('a small body that nobody read does not cost the connection', async () => {
    served = await serve(() => text('unread'));
    const client = await served.raw();
    client.send(post('/', 'x'.repeat(50_000), 'Content-Length: 50000'));
    await client.until(/unread$/);
    client.send(get('/'));
    expect(await client.until(/unread.*unread$/s)).not.toContain('Connection: close');
  });

  test('a client that waits for 100 Continue gets it only when the body is asked for', async () => {
    served = await serve((request) => (request.target === '/read' ? echo(request) : text('no', 401)));
    const reader = await served.raw();
    reader.send(post('/read', '', 'Expect: 100-continue', 'Content-Length: 5'));
    await reader.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    reader.send('hello');
    await reader.until(/200 OK.*POST \/read HTTP\/1\.1 5$/s);
    const refused = await served.raw();
    refused.send(post('/no', '', 'Expect: 100-continue', 'Content-Length: 5'));
    expect(await refused.ended()).toMatch(/^HTTP\/1\.1 401 /);
    const stream = served.http2().request({ ':method': 'POST', ':path': '/read', expect: '100-continue' });
    stream.on('continue', () => stream.end('hello'));
    expect((await http2Answer(stream)).body.toString()).toBe('POST /read HTTP/2.0 5');
  });

  test('a body that trickles is given up', async () => {
    const clock = handClock();
    let reading = false;
    served = await serve((request) => {
      const answer = echo(request);
      reading = true;
      return answer;
    }, clock);
    const client = await served.raw();
    client.send(post('/', 'a', 'Content-Length: 1000'));
    await eventually(() => reading);
    clock.advance(bodyGraceMs + 5_000);
    await client.until(/^HTTP\/1\.1 408 .*too slow$/s);
    reading = false;
    const stream = served.http2().request({ ':method': 'POST', ':path': '/' });
    stream.write('a');
    await eventually(() => reading);
    clock.advance(bodyGraceMs + 5_000);
    expect((await http2Answer(stream)).status).toBe(408);
  });

  test.each(['HTTP/1.1', 'HTTP/2'])(
    'a client that leaves in the middle of its %s body is noticed and nobody is alarmed',
    async (protocol) => {
      const ends: unknown[] = [];
      let begun = false;
      served = await serve((request) => {
        begun = true;
        return request.body(1_000).then(
          () => text(''),
          (error) => {
            ends.push(error);
            throw error;
          },
        );
      });
      if (protocol === 'HTTP/2') {
        const client = await served.frames();
        client.send(
          Buffer.concat([frame('HEADERS', endHeaders, 1, packed.post), frame('DATA', 0, 1, Buffer.from('a'))]),
        );
        await eventually(() => begun);
        client.send(frame('RST_STREAM', 0, 1, cancel));
      } else {
        const client = await served.raw();
        client.send(post('/', 'a', 'Content-Length: 10'));
        await eventually(() => begun);
        client.socket.end();
      }
      await eventually(() => ends.length === 1);
      expect(ends[0]).toBeInstanceOf(ClientGoneError);
      expect(served.reports).toEqual([]);
    },
  );
});

describe('clients that are slow, gone or too many', () => {
  test.each(['HTTP/1.1', 'HTTP/2'])(
    'the signal of an %s request aborts when its client leaves, and only then',
    async (protocol) => {
      const signals: AbortSignal[] = [];
      served = await serve((request) => {
        signals.push(request.signal);
        return request.target === '/quick' ? text('quick') : new Promise(() => {});
      });
      if (protocol === 'HTTP/2') {
        const session = served.http2();
        await http2Answer(session.request({ ':path': '/quick' }));
        session.request({ ':path': '/slow' }).on('error', () => {});
        await eventually(() => signals.length === 2);
        session.destroy();
      } else {
        const client = await served.raw();
        client.send(get('/quick'));
        await client.until(/quick$/);
        client.send(get('/slow'));
        await eventually(() => signals.length === 2);
        client.socket.destroy();
      }
      await eventually(() => (signals[1] as AbortSignal).aborted);
      expect(signals[0]?.aborted).toBe(false);
    },
  );

  test('a head that does not come to its end is answered 408', async () => {
    served = await serve(echo);
    const client = await served.raw();
    client.send('GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    const drip = setInterval(() => client.send('a'), 500);
    expect(await client.ended().finally(() => clearInterval(drip))).toMatch(/^HTTP\/1\.1 408 .*"reason":"Timeout"/s);
  });

  test.each(['HTTP/1.1', 'HTTP/2'])('an %s client that does not read its answer is cut off', async (protocol) => {
    const clock = handClock();
    const signals: AbortSignal[] = [];
    served = await serve((request) => {
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
    await eventually(() => signals.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 50)); // What fits into the buffers on the way has gone there.
    clock.advance(answerStallMs + 2_000);
    await eventually(() => (signals[0] as AbortSignal).aborted);
    expect(served.reports).toEqual([]);
  });

  test('idle connections of both protocols are closed, and not those that wait for an answer', async () => {
    const clock = handClock();
    let answer = (): void => {};
    served = await serve(
      (request) =>
        request.target === '/slow' ? new Promise((resolve) => (answer = () => resolve(text('late')))) : text('quick'),
      clock,
    );
    const idle = await served.raw();
    idle.send(get('/quick'));
    await idle.until(/quick$/);
    const session = served.http2();
    await http2Answer(session.request({ ':path': '/quick' }));
    const busy = await served.raw();
    const before = answer;
    busy.send(get('/slow'));
    await eventually(() => answer !== before);
    await new Promise((resolve) => setTimeout(resolve, 20)); // The stream's own close comes a turn after its end.
    clock.advance(idleTimeoutMs + 2_000);
    await idle.ended();
    await eventually(() => session.closed || session.destroyed);
    answer();
    await busy.until(/late$/);
  });

  test('pipelined requests are served one after the other, each when the answer before it has left', async () => {
    const begun: string[] = [];
    const answers: (() => void)[] = [];
    served = await serve((request) => {
      begun.push(request.target);
      return new Promise((resolve) => answers.push(() => resolve(text(`<${request.target}>`))));
    });
    const client = await served.raw();
    client.send(['/0', '/1', '/2'].map((target) => get(target)).join(''));
    for (const at of [0, 1, 2]) {
      await eventually(() => answers.length === at + 1);
      expect(begun).toEqual(['/0', '/1', '/2'].slice(0, at + 1));
      answers[at]?.();
      await client.until(new RegExp(`</${at}>$`));
    }
  });

  test('pipelined requests behind an answer that nobody reads do not begin, and end with their connection', async () => {
    let begun = 0;
    let ended = 0;
    served = await serve((request) => {
      begun += 1;
      request.onEnd(() => (ended += 1));
      return { status: 200, headers: {}, body: Buffer.alloc(32 * 1024 * 1024) };
    });
    const client = await served.raw();
    client.socket.pause();
    client.send(get('/').repeat(5));
    await eventually(() => begun === 1);
    // Another connection is served from its beginning to its end meanwhile.
    const other = await served.raw();
    other.send(get('/'));
    await other.until(/^HTTP\/1\.1 200/);
    expect(begun).toBe(2);
    client.socket.destroy();
    await eventually(() => ended === 1);
    other.socket.destroy();
    await eventually(() => ended === 2);
    expect(begun).toBe(2);
    expect(served.reports).toEqual([]);
  });

  test('more pipelined requests than allowed are refused, and those before them answered in order', async () => {
    const answered: string[] = [];
    served = await serve(async (request) => {
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

  test('a client that leaves behind pipelined requests and malformed bytes is told nothing any more', async () => {
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
    served = await serve((request) => {
      request.onEnd(() => (ended = true));
      return new Promise((resolve) => (answer = () => resolve(text('x'.repeat(pieceBytes)))));
    }, clock);
    const client = await served.raw();
    client.send(`${Array.from({ length: 15 }, (_, i) => get(`/${i}`)).join('')}malformed\r\n\r\n`);
    await eventually(() => answer !== undefined);
    client.socket.destroy();
    await once(client.socket, 'close');
    answer?.(); // writing it shows that the client has left
    await eventually(() => ended);
    await new Promise(setImmediate); // the close of each response comes after that
    expect(goodbyes).toBe(0);
    expect(served.reports).toEqual([]);
  });

  test('a flood of resets ends the session that sends it and nobody else', async () => {
    let begun = 0;
    served = await serve((request) => {
      if (request.target === '/other') return text('served');
      begun += 1;
      return new Promise(() => {});
    });
    const attacker = await served.frames();
    let ended = false;
    attacker.socket.on('close', () => (ended = true));
    const resets = 20_000;
    const flood = Array.from({ length: resets }, (_, i) =>
      Buffer.concat([
        frame('HEADERS', endHeaders | endStream, 2 * i + 1, packed.get),
        frame('RST_STREAM', 0, 2 * i + 1, cancel),
      ]),
    );
    for (let i = 0; i < resets && !ended; i += 100) {
      attacker.send(Buffer.concat(flood.slice(i, i + 100)));
      await new Promise(setImmediate);
    }
    await attacker.ended();
    expect(begun).toBeLessThan(resets / 5);
    expect((await http2Answer(served.http2().request({ ':path': '/other' }))).body.toString()).toBe('served');
  });

  test('a client that shuts its side and waits still gets its answer', async () => {
    served = await serve(async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return text('answered');
    });
    const client = await served.raw();
    client.send(get('/'));
    client.socket.end();
    expect(await client.ended()).toMatch(/answered$/);
  });
});

describe('leaving', () => {
  test('under load of both protocols nothing that was sent is lost', async () => {
    served = await serve(async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      return text(request.target);
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 8, rejectUnauthorized: false });
    const failures: string[] = [];
    let answered = 0;
    let stop = false;
    const overHttp1 = (i: number): Promise<void> =>
      new Promise((resolve) => {
        httpsRequest({ host: '127.0.0.1', port: served.listener.port, agent, path: `/${i}` }, (response) => {
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
    const overHttp2 = async (i: number): Promise<void> => {
      if (session.closed || session.destroyed) session = served.http2();
      try {
        await http2Answer(session.request({ ':path': `/${i}` }));
        answered += 1;
      } catch (error) {
        if (!stop) failures.push(`HTTP/2: ${error}`);
      }
    };
    const clients = [0, 1, 2, 3]
      .flatMap(() => [overHttp1, overHttp2])
      .map(async (call) => {
        for (let i = 0; !stop; i += 1) await call(i);
      });
    await eventually(() => answered > 200);
    const before = answered;
    const drained = served.listener.drain(1_000);
    await eventually(() => answered > before + 200);
    stop = true;
    await Promise.all(clients);
    agent.destroy();
    session.close();
    await drained;
    await served.listener.close(1_000);
    expect(failures).toEqual([]);
  });

  test('answers to a draining HTTP/1.1 client close its connection, streams are told, new connections still served', async () => {
    const sinks: Sink[] = [];
    served = await serve((request) => {
      if (request.target !== '/watch') return text('answer');
      return {
        status: 200,
        headers: {},
        body: {
          stream: async (sink) => {
            sinks.push(sink);
            await new Promise((resolve) => sink.draining.addEventListener('abort', resolve));
            sink.write(Buffer.from('bye'));
          },
        },
      };
    });
    const watcher = await served.raw();
    watcher.send(get('/watch'));
    const idle = await served.raw();
    idle.send(get('/'));
    await idle.until(/answer$/);
    await eventually(() => sinks.length === 1);
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

  test('a drain ends when those that were there have left, however many connect meanwhile', async () => {
    served = await serve(() => text('answer'));
    const present = await served.raw();
    present.send(get('/'));
    await present.until(/answer$/);
    const drained = served.listener.drain(60_000);
    const newcomers = [await served.raw(), await served.raw()];
    present.socket.destroy();
    await drained; // not the sixty seconds that the newcomers could stay
    for (const newcomer of newcomers) {
      newcomer.send(get('/'));
      expect(await newcomer.ended()).toMatch(/200 OK.*Connection: close.*answer$/s);
    }
  });

  test('an HTTP/2 session is told to leave while its requests are still answered, those sent after the notice too', async () => {
    const answers: (() => void)[] = [];
    served = await serve(() => new Promise((resolve) => answers.push(() => resolve(text('answer')))));
    const session = served.http2();
    const first = http2Answer(session.request({ ':path': '/' }));
    await eventually(() => answers.length === 1);
    const told: unknown[] = [];
    session.on('goaway', (code, last) => told.push([code, last]));
    const drained = served.listener.drain(60_000);
    await eventually(() => told.length > 0);
    expect(told[0]).toEqual([0, 2 ** 31 - 1]);
    answers[0]?.();
    expect((await first).body.toString()).toBe('answer');
    await drained;
  });

  test('by chance an HTTP/2 client is asked to open its next requests elsewhere, and what it has open goes on', async () => {
    const sinks: Sink[] = [];
    const streaming: Handler<ApiRequest> = ({ target }) =>
      target === '/watch'
        ? {
            status: 200,
            headers: {},
            body: {
              stream: (sink) => {
                sinks.push(sink);
                return new Promise<void>((resolve) => sink.signal.addEventListener('abort', () => resolve()));
              },
            },
          }
        : text('answer');
    served = await serve(streaming, systemClock, { goawayChance: 1 });
    const session = served.http2();
    let told = 0;
    session.on('goaway', () => (told += 1));
    const watch = session.request({ ':path': '/watch' });
    let received = '';
    watch.on('data', (piece: Buffer) => (received += piece));
    await eventually(() => sinks.length === 1 && told > 0);
    sinks[0]?.write(Buffer.from('still here'));
    await eventually(() => received === 'still here');
    expect(sinks[0]?.draining.aborted).toBe(false);
    // HTTP/1.1 knows no such word.
    const client = await served.raw();
    client.send(get('/'));
    expect(await client.until(/answer$/)).not.toMatch(/Connection: close/i);
    watch.close();
    await eventually(() => session.closed);
  });

  test('without a chance nobody is asked to leave', async () => {
    served = await serve(() => text('answer'));
    const session = served.http2();
    let told = 0;
    session.on('goaway', () => (told += 1));
    for (let n = 0; n < 200; n++) await http2Answer(session.request({ ':path': '/' }));
    expect(told).toBe(0);
  });

  test('a client may have as many requests open as it is told, and no more', async () => {
    served = await serve(() => text('answer'), systemClock, { streamsMax: 7 });
    const session = served.http2();
    await new Promise((settings) => session.once('remoteSettings', settings));
    expect(session.remoteSettings.maxConcurrentStreams).toBe(7);
  });

  test('closing waits for answers on their way and cuts off what is left at the limit', async () => {
    let answer = (): void => {};
    served = await serve((request) =>
      request.target === '/never'
        ? new Promise(() => {})
        : new Promise((resolve) => (answer = () => resolve(text('late')))),
    );
    const patient = await served.raw();
    const before = answer;
    patient.send(get('/late'));
    await eventually(() => answer !== before);
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
