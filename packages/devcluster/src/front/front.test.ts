import { afterEach, describe, expect, test } from '@jest/globals';
import { CleanupStack, requireValue, systemClock } from '@cluster-apiserver/base';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { once } from 'node:events';
import net from 'node:net';
import { untilSteady, untilTurned as until } from '@cluster-apiserver/testkit/until';
import { openFront } from './front.ts';
import type { Probe } from './readiness.ts';

let cleanup = new CleanupStack();

afterEach(async () => {
  await cleanup.close();
  cleanup = new CleanupStack();
});

describe('a new connection goes to', () => {
  test('the ready replicas, in turn', async () => {
    const { dial } = await frontOf([await speaker('a'), await speaker('b')]);
    const answers = [await dial(), await dial(), await dial(), await dial()];
    expect(answers.filter((answer) => answer === 'a')).toHaveLength(2);
    expect(answers.filter((answer) => answer === 'b')).toHaveLength(2);
  });

  test('the next replica when one refuses, without the client noticing', async () => {
    const { dial } = await frontOf([await refusing(), await speaker('b')]);
    for (let i = 0; i < 6; i += 1) expect(await dial()).toBe('b');
  });

  test('no replica that is not ready, until it is ready again', async () => {
    const [a, b] = [await speaker('a'), await speaker('b')];
    const { dial, ready, said } = await frontOf([a, b]);
    ready.delete(a.port);
    await said(`${a.port} gets no new connections`);
    for (let i = 0; i < 4; i += 1) expect(await dial()).toBe('b');
    ready.add(a.port);
    await said(`${a.port} takes new connections`, 2);
    expect(new Set([await dial(), await dial()])).toEqual(new Set(['a', 'b']));
  });

  test('a replica that is not ready when none is, so that it can say why', async () => {
    const a = await speaker('a');
    const { dial, ready, said } = await frontOf([await refusing(), a]);
    ready.clear();
    await said(`${a.port} gets no new connections`);
    expect(await dial()).toBe('a');
  });

  test('no replica when there is none: the client gets a reset at once', async () => {
    const { open } = await frontOf([await refusing(), await refusing()]);
    const [error] = await once(open(), 'error');
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('an open connection', () => {
  test('stays where it is when its replica is no longer ready', async () => {
    const echo = await listener((socket) => socket.pipe(socket));
    const { open, ready, said } = await frontOf([echo]);
    const client = open();
    client.write('before');
    expect(String((await once(client, 'data'))[0])).toBe('before');
    ready.clear();
    await said(`${echo.port} gets no new connections`);
    client.write('after');
    expect(String((await once(client, 'data'))[0])).toBe('after');
    client.destroy();
  });

  test('is answered after the client has half-closed', async () => {
    const counting = await listener(
      (socket) => void received(socket).then((bytes) => socket.end(`${bytes.length} bytes`)),
    );
    const { open } = await frontOf([counting]);
    const client = open();
    client.end(Buffer.alloc(300_000));
    expect(String(await received(client))).toBe('300000 bytes');
  });

  test('can still send after the replica has half-closed', async () => {
    const { promise: later, resolve } = Promise.withResolvers<Buffer>();
    const early = await listener((socket) => {
      socket.end('goodbye');
      void received(socket).then(resolve);
    });
    const { open } = await frontOf([early]);
    const client = open();
    expect(String(await received(client))).toBe('goodbye');
    client.end(Buffer.alloc(100_000));
    expect(await later).toHaveLength(100_000);
  });

  test('that a replica resets is reset for the client, not ended', async () => {
    const breaking = await listener((socket) => socket.once('data', () => socket.resetAndDestroy()));
    const { open } = await frontOf([breaking]);
    const client = open();
    client.write('hello');
    const [error] = await once(client, 'error');
    expect(error).toMatchObject({ code: 'ECONNRESET' });
  });

  test('that a client resets is reset for the replica', async () => {
    const { promise: broken, resolve } = Promise.withResolvers<NodeJS.ErrnoException>();
    const waiting = await listener((socket) => {
      socket.on('error', resolve);
      socket.write('hello');
    });
    const { open } = await frontOf([waiting]);
    const client = open();
    await once(client, 'data');
    client.resetAndDestroy();
    expect(await broken).toMatchObject({ code: 'ECONNRESET' });
  });

  test('applies backpressure to a fast replica with a slow reader', async () => {
    const { promise: filled, resolve } = Promise.withResolvers<number>();
    const manyBytes = 256 * 1024 * 1024;
    const flooding = await listener((socket) => {
      const chunk = Buffer.alloc(1024 * 1024);
      const pour = (): void => {
        while (socket.bytesWritten + socket.writableLength < manyBytes) if (!socket.write(chunk)) return;
      };
      socket.on('drain', pour);
      socket.on('error', () => {}); // the client goes away in the middle
      pour();
      void untilSteady(() => socket.bytesWritten).then(resolve);
    });
    const { open } = await frontOf([flooding]);
    const client = open();
    client.pause();
    expect(await filled).toBeLessThan(manyBytes / 4); // what kernels and streams hold on the way
    client.destroy();
  });
});

test('draining keeps open connections, accepts no new ones, and completes with the last connection', async () => {
  const echo = await listener((socket) => socket.pipe(socket));
  const { open, front } = await frontOf([echo]);
  const client = open();
  client.write('x');
  await once(client, 'data');
  let drained = false;
  const draining = front.drain().then(() => (drained = true));
  await expect(once(open(), 'error')).resolves.toMatchObject([{ code: 'ECONNREFUSED' }]);
  client.write('still here');
  expect(String((await once(client, 'data'))[0])).toBe('still here');
  expect(drained).toBe(false);
  client.end();
  await draining;
});

/** What arrives until the peer's end. `buffer` of node:stream/consumers would then close the other direction, too, on Node.js 26. */
async function received(socket: net.Socket): Promise<Buffer> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  await once(socket, 'end');
  return Buffer.concat(pieces);
}

interface Listener {
  readonly port: number;
}

async function listener(serve: (socket: net.Socket) => void): Promise<Listener> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup.defer('listener', () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { port: (server.address() as net.AddressInfo).port }; // it listens on a TCP port
}

const speaker = (name: string): Promise<Listener> => listener((socket) => socket.end(name));

/** A port without a listener. */
/** Nobody else gets this port either: another test may take a port of the ephemeral range as soon as it is closed. */
async function refusing(): Promise<Listener> {
  const [port] = await freePorts(1);
  return { port: requireValue(port) };
}

async function frontOf(replicas: readonly Listener[]) {
  const ports = replicas.map(({ port }) => port);
  const ready = new Set(ports);
  const lines: string[] = [];
  const probe: Probe = { ready: async (port) => ready.has(port), close: () => {} };
  const { port } = await refusing();
  const front = await openFront({ listen: '127.0.0.1', port }, ports, probe, systemClock, (line) => lines.push(line));
  const drained = (): void => void front.drain();
  cleanup.defer('front', drained);
  const said = (text: string, times = 1): Promise<void> =>
    until(() => lines.filter((line) => line.includes(text)).length >= times);
  await Promise.all(ports.map((replica) => said(`${replica} takes new connections`)));
  const open = (): net.Socket => net.connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  const dial = async (): Promise<string> => {
    const client = open();
    const answer = String(await received(client));
    client.end();
    return answer;
  };
  return { front, open, dial, ready, said };
}
