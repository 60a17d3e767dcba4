/** A server that cannot start ends with lines that name the flags. What needs no system is in server/configuration/settings.test.ts. */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { serveKinds } from '../serve-kinds.ts';

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

const start = (...flags: readonly string[]): Promise<unknown> =>
  serveKinds(kinds, { etcd, flags, files: { garbage: 'zork' }, errorsExpected: true });

test('a port in use is named with its flag', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo; // it listens on a port
  await expect(start(`--secure-port=${port}`)).rejects.toThrow(
    `--secure-port: cannot listen: listen EADDRINUSE: address already in use 127.0.0.1:${port}`,
  );
  other.close();
});

test('an address of another machine is named with its flag', async () => {
  await expect(start('--bind-address=192.0.2.1')).rejects.toThrow('--bind-address: cannot listen: ');
});

test('faults of several files are reported together, before anything is opened', async () => {
  const files = ['tls-cert-file', 'tls-private-key-file', 'client-ca-file', 'audit-policy-file'];
  const failed = start(...files.map((flag) => `--${flag}=garbage`));
  for (const flag of files) await expect(failed).rejects.toThrow(`--${flag}: `);
});
