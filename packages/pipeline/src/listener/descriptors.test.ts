import { describe, expect, test } from '@jest/globals';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { untilSteady, untilTurned } from '@cluster-apiserver/testkit/until';
import { systemClock } from '@cluster-apiserver/base';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { preface, requestHeaders, resetStream, settings } from '@cluster-apiserver/testkit/http2-frames';
import { packed, countingMeasures, text, get, useListener } from '../../test/listener.ts';
import { readdirSync, readlinkSync } from 'node:fs';
import { clientHello } from '../../test/client-hello.ts';
import * as limits from './limits.ts';

const serve = useListener();

describe('descriptors', () => {
  const openSockets = (): number =>
    readdirSync('/proc/self/fd').filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith('socket:');
      } catch {
        return false; // the descriptor of the directory itself
      }
    }).length;

  test('a client that leaves in the middle of its handshake leaves no descriptor open', async () => {
    const served = await serve(() => text('well'));
    const hello = await clientHello();
    const before = openSockets();
    const clients = Array.from({ length: 5 }, () => connectTcp(served.listener.port, '127.0.0.1'));
    for (const client of clients) {
      client.write(hello);
      await once(client, 'data');
      client.end();
    }
    await untilTurned(() => openSockets() <= before);
  });

  const large = Buffer.concat([
    Buffer.from([0x40, 1]),
    Buffer.from('b'),
    Buffer.from([0x7f, 0xa1, 0x1e]),
    Buffer.alloc(4_000, 'v'),
  ]);
  const attacks: [string, Buffer[]][] = [
    [
      'headers that refer to a large one',
      [
        requestHeaders(1, Buffer.concat([packed.get, large])),
        ...Array.from({ length: 19 }, (_, i) =>
          requestHeaders(2 * i + 3, Buffer.concat([packed.get, Buffer.alloc(15_000, 0xbe)])),
        ),
      ],
    ],
    [
      'resets',
      [
        Buffer.concat(
          Array.from({ length: 1_500 }, (_, i) =>
            Buffer.concat([requestHeaders(2 * i + 1, packed.get), resetStream(2 * i + 1)]),
          ),
        ),
      ],
    ],
    ['nothing', []],
  ];
  test.each(
    attacks.flatMap(([what, frames]) => ['leaves', 'resets its connection'].map((how) => [what, how, frames] as const)),
  )('of a client that sends %s and then %s are closed', async (_what, how, frames) => {
    const clock = fakeClock();
    const served = await serve(() => text(''), clock);
    const before = openSockets();
    for (let n = 0; n < 30; n++) {
      const tcp = connectTcp(served.listener.port, '127.0.0.1');
      const socket = connectTls({ socket: tcp, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      socket.write(Buffer.concat([preface, settings()]));
      for (const piece of frames) socket.write(piece);
      await new Promise(setImmediate);
      if (how === 'leaves') socket.destroy();
      else tcp.resetAndDestroy();
    }
    await untilTurned(() => {
      clock.advance(limits.sweepMs);
      return openSockets() === before;
    });
  });

  test('of connections that were reset unnoticed are closed when clients reuse their port', async () => {
    let held = 0;
    const served = await serve(({ target }) => {
      if (target !== '/held') return Promise.resolve(text(''));
      held += 1;
      return new Promise(() => {}); // the body is never requested, so nothing reads from the socket
    });
    const connectBy = async (localPort?: number): Promise<{ tcp: Socket; socket: TLSSocket }> => {
      const { port } = served.listener;
      // An address of its own: parallel tests use any free port of the others.
      const tcp = connectTcp({ port, host: '127.0.0.1', localAddress: '127.0.0.7', ...(localPort && { localPort }) });
      const socket = connectTls({ socket: tcp, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] });
      socket.on('error', () => {});
      await once(socket, 'secureConnect');
      return { tcp, socket };
    };
    const before = openSockets();
    for (let n = 0; n < 5; n++) {
      const { tcp, socket: first } = await connectBy();
      const { localPort } = tcp;
      first.write(`POST /held HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n`);
      first.write(Buffer.alloc(8_000_000, 'a'));
      await untilTurned(() => held > n);
      await untilSteady(() => first.writableLength); // the server reads no more
      tcp.resetAndDestroy();
      await once(tcp, 'close');
      const { socket: second } = await connectBy(localPort);
      second.end(get('/'));
      await once(second.resume(), 'close');
    }
    await untilTurned(() => openSockets() <= before);
  });

  test('of handshakes that are never finished are closed', async () => {
    const served = await serve(() => text(''), systemClock);
    const silent = connectTcp(served.listener.port, '127.0.0.1');
    silent.on('error', () => {});
    await new Promise((closed) => silent.on('close', closed).resume());
  });

  test('of one address are limited if configured, and released', async () => {
    const { measures, counted } = countingMeasures();
    const served = await serve(() => text(''), systemClock, { connectionsPerPeerMax: 2, measures });
    const first = await served.raw();
    await served.raw();
    const refused = connectTcp(served.listener.port, '127.0.0.1');
    refused.on('error', () => {});
    await new Promise((closed) => refused.on('close', closed).resume());
    expect(counted).toEqual(['refused peer']);
    first.socket.destroy();
    for (;;) {
      const again = connectTls({ port: served.listener.port, host: '127.0.0.1', rejectUnauthorized: false });
      const isOpen = await new Promise<boolean>((resolve) => {
        again.on('error', () => resolve(false)).on('secureConnect', () => resolve(true));
      });
      again.destroy();
      if (isOpen) break;
    }
  });
});
