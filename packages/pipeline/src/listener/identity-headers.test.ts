import { describe, expect, test } from '@jest/globals';
import { untilTurned } from '@cluster-apiserver/testkit/until';
import type { ApiRequest } from '../exchange.ts';
import { literals, requestHeaders } from '@cluster-apiserver/testkit/http2-frames';
import { packed, text, get, useListener } from '../../test/listener.ts';

const serve = useListener();

describe('identity', () => {
  const names = ['authorization', 'content-type'];
  test.each(names.flatMap((name) => ['HTTP/1.1', 'HTTP/2'].map((protocol) => [name, protocol] as const)))(
    'two %s lines over %s are refused',
    async (name, protocol) => {
      const served = await serve(() => text('seen'));
      if (protocol === 'HTTP/1.1') {
        const client = await served.raw();
        client.send(get('/', `${name}: a`, `${name.toUpperCase()}: b`));
        expect(await client.ended()).toMatch(/^HTTP\/1\.1 400 /);
        return;
      }
      const client = await served.frames();
      const lines = [literals([[name, 'a']]), literals([[name, 'b']])];
      client.send(requestHeaders(1, Buffer.concat([packed.get, ...lines])));
      await client.until(new RegExp(`more than one ${name} header`));
    },
  );

  test.each([['bob '], [' bob'], ['bob\t'], ['\tbob'], [' '], [' bob ']])(
    'an HTTP/2 header with the value %j is refused and not lost',
    async (value) => {
      const served = await serve(() => text('seen'));
      for (const name of ['authorization', 'impersonate-user', 'impersonate-group', 'x-remote-extra-a', 'accept']) {
        const client = await served.frames();
        const head = Buffer.concat([packed.get, literals([[name, value]])]);
        client.send(requestHeaders(1, head));
        await client.until(new RegExp(`the ${name} header .*"code":400`));
      }
    },
  );

  test.each(['\x01', '\x1f', '\x7f'])(
    'an HTTP/1.1 header with the control character %j is refused',
    async (control) => {
      const served = await serve(() => text('seen'));
      const client = await served.raw();
      client.send(get('/', `Impersonate-User: bob${control}`));
      expect(await client.ended()).toMatch(/^HTTP\/1\.1 400 /);
    },
  );

  // Fails once Node reports such a header: then refuse it and change docs/decisions/0005-http-listener.md.
  test.each(['\x01', '\0', '\x1f', '\x7f'])(
    'an HTTP/2 header with the control character %j is dropped by Node',
    async (control) => {
      const served = await serve((request) => text(`<${request.headersFrom('impersonate-').join()}>`));
      const client = await served.frames();
      const head = Buffer.concat([packed.get, literals([['impersonate-user', `bob${control}`]])]);
      client.send(requestHeaders(1, head));
      await client.until(/<>/);
    },
  );

  test('an HTTP/1.1 header arrives without the blanks around its value', async () => {
    const served = await serve((request) => text(`<${request.header('impersonate-user')}>`));
    const client = await served.raw();
    client.send(get('/', 'Impersonate-User: \t bob \t'));
    await client.until(/<bob>$/);
  });

  test('a request keeps its address after its client has left', async () => {
    const requests: ApiRequest[] = [];
    const served = await serve((request) => {
      requests.push(request);
      return new Promise(() => {});
    });
    const session = served.http2();
    session.request({ ':path': '/' }).on('error', () => {});
    const client = await served.raw();
    client.send(get('/'));
    await untilTurned(() => requests.length === 2);
    const signals = requests.map(({ signal }) => signal);
    session.destroy();
    client.socket.destroy();
    await untilTurned(() => signals.every(({ aborted }) => aborted));
    expect(requests.map(({ remoteAddress }) => remoteAddress)).toEqual(['127.0.0.1', '127.0.0.1']);
  });
});
