/**
 * Measures the memory of one replica per idle watch: with 100 watches on an HTTP/2 connection, and with a connection
 * for each.
 *
 *   ETCD_BIN=… node --conditions=source packages/tests/bench/idle-watches.ts [watches, 10000 by default] [--save]
 */
import { once } from 'node:events';
import fs from 'node:fs';
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import os from 'node:os';
import path from 'node:path';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { readProcessState } from '../test/hostile/server-process.ts';
import { adminToken, type BenchServer, startBenchServer, thisCheckout } from './compared-servers.ts';
import { args, saveSizing } from './save-measured.ts';

const [watches = 10_000] = args.map(Number);
/** Connections that open at the same time. */
const batch = 50;
/** Until V8 has collected what opening the watches has left. */
const settleMs = 20_000;

const home = fs.mkdtempSync(path.join(os.tmpdir(), 'idle-watches-'));
const etcd = await startEtcd();
const eachKiB: string[] = [];
try {
  for (const perConnection of [100, 1]) {
    const name = `watches-${perConnection}`;
    const server = await startBenchServer({ name, checkout: thisCheckout, endpoints: etcd.endpoints, home });
    try {
      const each = `${(await measure(server, perConnection)).toFixed(1)} KiB each`;
      console.log(`${perConnection} on a connection: ${each}`);
      eachKiB.push(each);
    } finally {
      await server.stop();
    }
  }
  const [shared, own] = eachKiB;
  saveSizing(
    `replica: ${watches.toLocaleString('en')} idle watches`,
    `${shared} with 100 on a connection, ${own} with a connection of their own`,
  );
} finally {
  await etcd.stop();
  fs.rmSync(home, { recursive: true });
}

async function measure(server: BenchServer, perConnection: number): Promise<number> {
  const residentKiB = (): number => (readProcessState(server.pid)?.residentMiB ?? Number.NaN) * 1_024;
  const before = residentKiB();
  const sessions: ClientHttp2Session[] = [];
  const toOpen = watches / perConnection;
  while (sessions.length < toOpen) {
    const opened = Array.from({ length: Math.min(batch, toOpen - sessions.length) }, () => connect(server.url, server));
    await Promise.all(opened.map((session) => watchAll(session, perConnection)));
    sessions.push(...opened);
  }
  await sleep(clock, settleMs);
  const growth = residentKiB() - before;
  for (const session of sessions) session.destroy();
  return growth / watches;
}

function watchAll(session: ClientHttp2Session, count: number): Promise<unknown> {
  return Promise.all(Array.from({ length: count }, () => openWatch(session)));
}

async function openWatch(session: ClientHttp2Session): Promise<ClientHttp2Stream> {
  const stream = session.request({
    ':path': '/api/v1/namespaces/idle/serviceaccounts?watch=true',
    authorization: `Bearer ${adminToken}`,
  });
  stream.on('error', () => {}); // the sessions are destroyed at the end
  const [headers] = (await once(stream, 'response')) as [{ readonly ':status'?: number }];
  if (headers[':status'] !== 200) throw new Error(`watch: HTTP ${headers[':status']}`);
  return stream.resume();
}
