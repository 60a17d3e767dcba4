import { afterEach, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import path from 'node:path';
import { until } from '@cluster-apiserver/testkit/until';
import { preface, settings } from '@cluster-apiserver/testkit/http2-frames';
import { rawClient } from '../../test/listener.ts';

/** A process needs about thirty descriptors for itself. */
const descriptors = 60;
const script = path.resolve(import.meta.dirname, '..', '..', 'test', 'listening-process.ts');

let child: ChildProcess;
let printed: string;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  if (child.exitCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGKILL');
  await exit;
});

async function start(limit = 'true'): Promise<number> {
  printed = '';
  const command = `${limit} && exec "$0" --conditions=source "$1"`;
  child = spawn('bash', ['-c', command, process.execPath, script], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdout?.on('data', (text) => (printed += text));
  return until('the port', () => {
    const port = /^port: (\d+)$/m.exec(printed)?.[1];
    return port === undefined ? undefined : Number(port);
  });
}

const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n';

test('a listener without file descriptors serves its connections, and accepts again later', async () => {
  const port = await start(`ulimit -n ${descriptors}`);
  const early = await rawClient(port, 'http/1.1');
  sockets.push(early.socket);
  early.send(request);
  await early.until(/well$/);

  for (let i = 0; i < 2 * descriptors; i++) {
    const socket = connectTcp(port, '127.0.0.1');
    socket.on('error', () => {});
    sockets.push(socket);
  }
  await until('a client that is not let in', async () => {
    const late = await rawClient(port, 'http/1.1').catch(() => undefined);
    if (late) sockets.push(late.socket);
    return late ? undefined : true;
  });
  for (let i = 0; i < 5; i++) {
    const before = early.receivedBytes();
    early.send(request);
    await until('an answer', () => (early.receivedBytes() > before ? true : undefined));
  }
  expect(early.socket.destroyed).toBe(false);

  for (const socket of sockets.slice(1)) socket.destroy();
  const served = await until('a new connection', async () => {
    const late = await rawClient(port, 'http/1.1').catch(() => undefined);
    if (!late) return undefined;
    sockets.push(late.socket);
    late.send(request);
    return late.until(/well$/).catch(() => undefined);
  });
  expect(served).toMatch(/^HTTP\/1\.1 200 /);
  expect(child.exitCode).toBeNull();
  // libuv silently accepts and closes further connections. The log line must not be repeated.
  expect(printed.match(/^report: /gm)?.length ?? 0).toBeLessThanOrEqual(1);
});

test('sessions that end with an error are not retained in memory', async () => {
  const port = await start();
  const brokenFrame = Buffer.from('0000010105000000008283', 'hex'); // headers on stream 0, which is the connection
  const sessions = 100;
  for (let n = 0; n < sessions; n++) {
    const client = await rawClient(port, 'h2');
    sockets.push(client.socket);
    client.send(Buffer.concat([preface, settings(), brokenFrame]));
    await client.ended();
    client.socket.destroy();
  }
  // The sweep releases the memory of disconnected clients within seconds.
  const left = await until('memory without them', async () => {
    const before = printed.length;
    child.stdin?.write('\n');
    const count = await until('a count', () => /^sockets: (\d+)$/m.exec(printed.slice(before))?.[1]);
    return Number(count) < sessions / 10 ? count : undefined;
  });
  expect(Number(left)).toBeLessThan(sessions / 10);
});
