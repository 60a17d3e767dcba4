/** Issuers behind a proxy, as configured by the egress selector file. */
import { expect, test } from '@jest/globals';
import fs from 'node:fs';
import { once } from 'node:events';
import http, { type IncomingMessage } from 'node:http';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { sendRequest, refusedUser } from './send-request.ts';
import { jwtAuthenticator, configuration, serve } from './configuration.ts';
import { type RealIssuer, startIssuer } from './issuer.ts';

const egress = (...egressSelections: object[]): string =>
  JSON.stringify({ apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration', egressSelections });

const configurationFor = (issuer: RealIssuer, egressSelectorType: string): string => {
  const { issuer: place, ...rest } = jwtAuthenticator(issuer) as { issuer: object };
  return configuration({ jwt: [{ ...rest, issuer: { ...place, egressSelectorType } }] });
};

const flags = ['--egress-selector-config-file=egress.yaml'];

test('an issuer is reached only through the proxy of its egress type', async () => {
  const cleanup = new CleanupStack();
  try {
    const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'egress-'));
    cleanup.defer('directory', () => fs.rmSync(directory, { recursive: true }));
    const socket = path.join(directory, 'proxy.sock');
    const connectTargets: string[] = [];
    let open = true;
    const proxy = http.createServer();
    proxy.on('connect', ({ url = '' }: IncomingMessage, client: net.Socket) => {
      connectTargets.push(url);
      if (!open) return client.end('HTTP/1.1 503 Closed\r\n\r\n');
      const there = net.connect(Number(url.split(':').at(-1)), 'localhost', () => {
        client.write('HTTP/1.1 200 Yes\r\n\r\n');
        there.pipe(client).pipe(there);
      });
      client.on('close', () => there.destroy());
    });
    proxy.listen(socket);
    cleanup.defer('proxy', () => void proxy.close());
    await once(proxy, 'listening');
    const issuer = await startIssuer();
    cleanup.defer('issuer', () => issuer.close());

    const selections = egress(
      { name: 'cluster', connection: { proxyProtocol: 'HTTPConnect', transport: { uds: { udsName: socket } } } },
      { name: 'controlplane', connection: { proxyProtocol: 'Direct' } },
    );
    const options = { flags, files: { 'egress.yaml': selections }, errorsExpected: true };
    const server = await serve(configurationFor(issuer, 'cluster'), options);
    cleanup.defer('server', () => server.close());
    expect(refusedUser(await sendRequest(server, await issuer.token()))).toBe('p:robot');
    const place = `localhost:${new URL(issuer.url).port}`;
    expect(connectTargets).toEqual([place, place]); // for discovery and for the keys

    open = false;
    issuer.requestedPaths.length = 0;
    const other = await serve(configurationFor(issuer, 'cluster'), { ...options, etcd: server.etcd });
    cleanup.defer('the other', () => other.close());
    expect((await sendRequest(other, await issuer.sign({}))).status).toBe(401);
    expect(other.logLines.find((line) => line.includes('cannot fetch the keys of an issuer'))).toContain('503');
    expect(issuer.requestedPaths).toEqual([]);

    const direct = await serve(configurationFor(issuer, 'controlplane'), { ...options, etcd: server.etcd });
    cleanup.defer('the direct one', () => direct.close());
    expect(refusedUser(await sendRequest(direct, await issuer.sign({})))).toBe('p:robot');
    expect(connectTargets).toHaveLength(3);
  } finally {
    await cleanup.close();
  }
}, 60_000);

test.each([
  [
    'an egress type that the file does not have',
    egress(),
    'jwt[0].issuer.egressSelectorType: Invalid value: "cluster"',
  ],
  [
    'an invalid file',
    egress({ name: 'cluster', connection: { proxyProtocol: 'GRPC' } }),
    '--egress-selector-config-file: egressSelections[0].connection.proxyProtocol: Unsupported value: "GRPC"',
  ],
  [
    'a missing certificate file',
    egress({
      name: 'cluster',
      connection: {
        proxyProtocol: 'HTTPConnect',
        transport: { tcp: { url: 'https://p:1', tlsConfig: { clientCert: 'none.crt', clientKey: 'none.key' } } },
      },
    }),
    '--egress-selector-config-file: egressSelections[0].connection.transport.tcp.tlsConfig.clientCert: cannot read none.crt',
  ],
])('the server does not start with %s', async (_, file, fault) => {
  const issuer = { url: 'https://localhost:1', certificateAuthority: '' } as RealIssuer; // never contacted
  await expect(serve(configurationFor(issuer, 'cluster'), { flags, files: { 'egress.yaml': file } })).rejects.toThrow(
    fault,
  );
});
