import { describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { headBytesMax } from './limits.ts';
import { data, endStream, requestHeaders } from '@cluster-apiserver/testkit/http2-frames';
import { http2Answer, packed, expectServed, text, echo, get, post, useListener } from '../../test/listener.ts';

const serve = useListener();

describe('ambiguous messages', () => {
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
    ['an absolute target of another host', get('http://other/'), 400],
    ['an absolute target with a user', get('https://u@a/'), 400],
    ['an absolute target without a host', get('https:///'), 400],
    ['an absolute target with a fragment', get('https://a#b'), 400],
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
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['a method in lower case', 'get / HTTP/1.1\r\nHost: a\r\n\r\n', 405],
    ['an unknown method without a target', 'FETCH\r\nHost: a\r\n\r\n', 400],
    ['a method with a colon', 'FE:CH / HTTP/1.1\r\nHost: a\r\n\r\n', 400],
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
      const served = await serve(async (request) => {
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

  test('a complete request before a malformed one is answered first', async () => {
    let answer: (() => void) | undefined;
    const served = await serve(() => new Promise((resolve) => (answer = () => resolve(text('first')))));
    const client = await served.raw();
    client.send(`${get('/')}broken\r\n\r\n`);
    await untilTurned(() => answer !== undefined);
    answer?.();
    expect(await client.ended()).toMatch(/^HTTP\/1\.1 200 .*firstHTTP\/1\.1 400 .*"code":400}$/s);
  });

  test('an unknown method behind a request is refused after its response', async () => {
    const served = await serve(echo);
    const client = await served.raw();
    client.send(`${get('/first')}FETCH /x HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(await client.ended()).toMatch(/^HTTP\/1\.1 200 .*GET \/first .*HTTP\/1\.1 405 .*"code":405}$/s);
  });

  test.each([
    ['https://a/api/v1?x=%zz', '/api/v1?x=%zz'],
    ['HTTP://A', '/'],
    ['https://a?watch', '/?watch'],
    ['https://a/http://other/', '/http://other/'],
  ])('the absolute target %s is %s', async (absolute, target) => {
    const served = await serve((request) => text(`<${request.target}>`));
    const client = await served.raw();
    client.send(get(absolute));
    expect(await client.until(/>$/)).toContain(`<${target}>`);
  });

  test.each(['GET / HTTP/1.1\r\nHost: a\r\n\r\n', 'PATCH /api HTTP/1.1\r\n', 'POST /'])(
    'plain HTTP on the port of TLS is refused in words: %j',
    async (message) => {
      const refused: string[] = [];
      const served = await serve(echo, undefined, { reportRefusal: ({ message: why }) => void refused.push(why) });
      const client = connectTcp(served.listener.port, '127.0.0.1');
      client.write(message);
      const pieces: Buffer[] = [];
      client.on('data', (piece) => pieces.push(piece));
      await once(client, 'close');
      const sentence = 'Client sent an HTTP request to an HTTPS server.';
      expect(Buffer.concat(pieces).toString()).toBe(`HTTP/1.0 400 Bad Request\r\n\r\n${sentence}\n`);
      expect(refused).toEqual([sentence]);
      await expectServed(served);
    },
  );

  test('an HTTP/2 body that is nothing but its end is empty', async () => {
    const served = await serve(echo);
    const client = await served.frames();
    client.send(Buffer.concat([requestHeaders(1, packed.post, false), data(1, Buffer.alloc(0), endStream)]));
    await client.until(/POST \/ HTTP\/2\.0 0/);
  });

  test('over HTTP/2 CONNECT is refused with a Status', async () => {
    const served = await serve(() => text('seen'));
    const answer = await http2Answer(served.http2().request({ ':method': 'CONNECT', ':authority': 'a' }));
    expect([answer.status, JSON.parse(answer.text).code]).toEqual([405, 405]);
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
    const served = await serve(echo);
    const client = await served.raw();
    client.send(request);
    expect(await client.until(/HTTP\/1\.1 \d$/)).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(client.received().endsWith(answer)).toBe(true);
    client.send(get('/next'));
    await client.until(/GET \/next HTTP\/1\.1 0$/);
  });
});

describe('CONNECT', () => {
  test('behind a request is refused after its response', async () => {
    let answer = (): void => {};
    const served = await serve(() => new Promise((resolve) => (answer = () => resolve(text('first')))));
    const before = answer;
    const client = await served.raw();
    client.send(`${get('/')}CONNECT other:443 HTTP/1.1\r\nHost: a\r\n\r\n`);
    await untilTurned(() => answer !== before);
    answer();
    expect(await client.ended()).toMatch(/^HTTP\/1\.1 200 .*firstHTTP\/1\.1 405 .*"code":405}$/s);
  });

  test('of a client that resets its connection does not affect others', async () => {
    const served = await serve(() => text(''));
    for (let n = 0; n < 10; n++) {
      const tcp = connectTcp(served.listener.port, '127.0.0.1');
      const socket = connectTls({ socket: tcp, rejectUnauthorized: false });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      socket.write('CONNECT other:443 HTTP/1.1\r\nHost: a\r\n\r\n');
      await new Promise(setImmediate);
      tcp.resetAndDestroy();
    }
    await expectServed(served);
  });
});
