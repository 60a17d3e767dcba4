import { describe, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import { ClientGoneError } from '../exchange.ts';
import { bodyGraceMs } from './limits.ts';
import { data, requestHeaders, resetStream } from '@cluster-apiserver/testkit/http2-frames';
import { bodyOf, http2Answer, packed, text, echo, get, post, useListener } from '../../test/listener.ts';

const serve = useListener();

describe('bodies', () => {
  test.each([
    ['with its length', (bytes: number) => `Content-Length: ${bytes}`],
    ['in chunks', () => 'Transfer-Encoding: chunked'],
  ])('a body over the limit %s is answered 413 while the client still sends', async (_form, header) => {
    const served = await serve(echo);
    const client = await served.raw();
    const bytes = 20_000_000;
    client.send(post('/', '', header(bytes)));
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')]);
    for (let i = 0; i < 300; i += 1) client.send(chunk);
    expect(await client.until(/too large/)).toMatch(/^HTTP\/1\.1 413 .*Connection: close/s);
  });

  test('over HTTP/2 a body over the limit is answered 413 and other streams go on', async () => {
    const served = await serve(echo);
    const session = served.http2();
    const large = session.request({ ':method': 'POST', ':path': '/' });
    const answered = http2Answer(large);
    for (let i = 0; i < 100; i += 1) large.write(Buffer.alloc(65_536));
    expect((await answered).status).toBe(413);
    expect((await http2Answer(session.request({ ':path': '/after' }))).text).toBe('GET /after HTTP/2.0 0');
  });

  test.each([
    ['with its length', 'Content-Length: 5', 'hello', ''],
    ['in chunks', 'Transfer-Encoding: chunked', '2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n', ''],
    ['before another request', 'Content-Length: 5', 'hello', get('/after')],
  ])('a body that arrives with its request %s is there at once', async (_form, header, body, after) => {
    const bodies: unknown[] = [];
    const served = await serve((request) => {
      const found = request.body(1_000);
      bodies.push(Buffer.isBuffer(found) ? found.toString() : found);
      return text('taken');
    });
    const client = await served.raw();
    client.send(post('/', body, header) + after);
    await client.until(after ? /taken.*taken$/s : /taken$/);
    client.send(post('/', body, header));
    await client.until(after ? /taken.*taken.*taken$/s : /taken.*taken$/s);
    expect(bodies).toEqual(after ? ['hello', '', 'hello'] : ['hello', 'hello']);
  });

  test('a small unread body keeps the connection', async () => {
    const served = await serve(() => text('unread'));
    const client = await served.raw();
    client.send(post('/', 'x'.repeat(50_000), 'Content-Length: 50000'));
    await client.until(/unread$/);
    client.send(get('/'));
    expect(await client.until(/unread.*unread$/s)).not.toContain('Connection: close');
  });

  test('a client that waits for 100 Continue gets it only when the body is read', async () => {
    const served = await serve((request) => (request.target === '/read' ? echo(request) : text('no', 401)));
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
    expect((await http2Answer(stream)).text).toBe('POST /read HTTP/2.0 5');
  });

  test('a slow body is refused with 408', async () => {
    const clock = fakeClock();
    let reading = false;
    const served = await serve((request) => {
      const answer = echo(request);
      reading = true;
      return answer;
    }, clock);
    const client = await served.raw();
    client.send(post('/', 'a', 'Content-Length: 1000'));
    await untilTurned(() => reading);
    clock.advance(bodyGraceMs + 5_000);
    await client.until(/^HTTP\/1\.1 408 .*too slow$/s);
    reading = false;
    const stream = served.http2().request({ ':method': 'POST', ':path': '/' });
    stream.write('a');
    await untilTurned(() => reading);
    clock.advance(bodyGraceMs + 5_000);
    expect((await http2Answer(stream)).status).toBe(408);
  });

  test.each(['HTTP/1.1', 'HTTP/2'])(
    'a client that disconnects in the middle of its %s body is noticed and not reported',
    async (protocol) => {
      const ends: unknown[] = [];
      let begun = false;
      const served = await serve((request) => {
        begun = true;
        return bodyOf(request, 1_000).then(
          () => text(''),
          (error) => {
            ends.push(error);
            throw error;
          },
        );
      });
      if (protocol === 'HTTP/2') {
        const client = await served.frames();
        client.send(Buffer.concat([requestHeaders(1, packed.post, false), data(1, Buffer.from('a'))]));
        await untilTurned(() => begun);
        client.send(resetStream(1));
      } else {
        const client = await served.raw();
        client.send(post('/', 'a', 'Content-Length: 10'));
        await untilTurned(() => begun);
        client.socket.end();
      }
      await untilTurned(() => ends.length === 1);
      expect(ends[0]).toBeInstanceOf(ClientGoneError);
      expect(served.reports).toEqual([]);
    },
  );
});
