import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { once } from 'node:events';
import { seededRandom, systemClock as clock } from '@cluster-apiserver/base';
import { type CertificateAuthority, createAuthority } from '@cluster-apiserver/certificates';
import { type ConnectProxy, createHttpsClient, createDocumentFetcher, createProxyDial } from '../../src/index.ts';
import { type Provider, startProvider } from '../oidc/provider.ts';

let provider: Provider;
let authority: CertificateAuthority;
let directory: string;
const opened: (http.Server | https.Server)[] = [];
const signal = new AbortController().signal;

beforeAll(async () => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'proxy-'));
  authority = await createAuthority('proxies', clock, seededRandom(2));
  provider = await startProvider();
});
afterEach(() => {
  for (const server of opened.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});
afterAll(async () => {
  await provider.close();
  fs.rmSync(directory, { recursive: true });
});

/** A proxy that writes down where it was asked to connect to, and connects there if it likes to. */
async function proxy(server: http.Server | https.Server, at: string | number, status = 200): Promise<string[]> {
  const asked: string[] = [];
  server.on('connect', ({ url = '', headers }: http.IncomingMessage, client: net.Socket) => {
    asked.push(`${url} ${headers.host}`);
    client.on('error', () => {});
    if (status !== 200) return client.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const there = net.connect(Number(url.split(':').at(-1)), 'localhost', () => {
      client.write('HTTP/1.1 200 Yes\r\n\r\n');
      there.pipe(client).pipe(there);
    });
    there.on('error', () => client.destroy());
    client.on('close', () => there.destroy());
  });
  opened.push(server);
  server.listen(at);
  await once(server, 'listening');
  return asked;
}

const fetched = (way: ConnectProxy): Promise<string> =>
  createDocumentFetcher(
    createHttpsClient({ clock, ca: provider.certificateAuthority, dial: createProxyDial(way) }),
    clock,
  )(`${provider.url}/keys`, signal);
const portOf = (server: net.Server): number => (server.address() as AddressInfo).port;
const target = (): string => `localhost:${new URL(provider.url).port} localhost:${new URL(provider.url).port}`;

test('keys are fetched through a proxy at a Unix socket', async () => {
  const socket = path.join(directory, 'a.sock');
  const asked = await proxy(http.createServer(), socket);
  expect(JSON.parse(await fetched({ socket }))).toEqual({ keys: provider.published });
  expect(asked).toEqual([target()]);
});

test('keys are fetched through a proxy over TCP', async () => {
  const server = http.createServer();
  const asked = await proxy(server, 0);
  const url = new URL(`http://localhost:${portOf(server)}`);
  expect(JSON.parse(await fetched({ url, tls: undefined }))).toEqual({ keys: provider.published });
  expect(asked).toEqual([target()]);
});

test('keys are fetched through a proxy over TCP with TLS on both sides', async () => {
  const ours = await authority.issueForServer({ commonName: 'apiserver', hosts: ['localhost'] });
  const its = await authority.issueForServer({ commonName: 'proxy', hosts: ['localhost'] });
  const server = https.createServer({
    cert: its.certificate,
    key: its.privateKey,
    ca: authority.certificate,
    requestCert: true,
    rejectUnauthorized: false, // it is no certificate for clients; what counts is that it is shown
  });
  const shown: unknown[] = [];
  server.on('secureConnection', (socket: TLSSocket) => shown.push(socket.getPeerCertificate().subject?.CN));
  const asked = await proxy(server, 0);
  const tls = {
    ca: Buffer.from(authority.certificate),
    cert: Buffer.from(ours.certificate),
    key: Buffer.from(ours.privateKey),
  };
  const url = new URL(`https://localhost:${portOf(server)}`);
  expect(JSON.parse(await fetched({ url, tls }))).toEqual({ keys: provider.published });
  expect(asked).toEqual([target()]);
  expect(shown).toEqual(['apiserver']);
  // The proxy must be who it should be, too.
  await expect(fetched({ url, tls: { ...tls, ca: Buffer.from(provider.certificateAuthority) } })).rejects.toThrow();
  expect(asked).toHaveLength(1);
});

test('the certificate of the server behind the proxy is verified', async () => {
  const socket = path.join(directory, 'b.sock');
  await proxy(http.createServer(), socket);
  const get = createDocumentFetcher(
    createHttpsClient({ clock, ca: authority.certificate, dial: createProxyDial({ socket }) }),
    clock,
  );
  provider.asked.length = 0;
  await expect(get(`${provider.url}/keys`, signal)).rejects.toThrow('failed');
  expect(provider.asked).toEqual([]);
});

test('requests use the proxy and no direct connection', async () => {
  const server = http.createServer().on('connect', (_, client: net.Socket) => {
    const there = net.connect(Number(new URL(provider.url).port), 'localhost', () => {
      client.write('HTTP/1.1 200 Yes\r\n\r\n');
      there.pipe(client).pipe(there);
    });
    there.on('error', () => client.destroy());
    client.on('error', () => there.destroy()).on('close', () => there.destroy());
  });
  opened.push(server);
  server.listen(0);
  await once(server, 'listening');
  const dial = createProxyDial({ url: new URL(`http://localhost:${portOf(server)}`), tls: undefined });
  const get = createDocumentFetcher(createHttpsClient({ clock, ca: provider.certificateAuthority, dial }), clock);
  // There is no listener: only the proxy knows where the issuer is.
  expect(await get('https://localhost:1/keys', signal)).toContain('keys');
});

test.each([403, 502, 301])('a proxy that answers %i is no way, and there is no other', async (status) => {
  const socket = path.join(directory, `${status}.sock`);
  await proxy(http.createServer(), socket, status);
  provider.asked.length = 0;
  await expect(fetched({ socket })).rejects.toMatchObject({
    cause: { message: 'the proxy does not connect', cause: { message: `the status is ${status}` } },
  });
  expect(provider.asked).toEqual([]);
});

test('an unreachable proxy is reported', async () => {
  await expect(fetched({ socket: path.join(directory, 'none.sock') })).rejects.toMatchObject({
    cause: { message: 'the proxy does not connect' },
  });
});
