/**
 * Records what kube-apiserver stores, as bytes and as it answers a client:
 *
 *   KUBE_APISERVER_BIN=… ETCD_BIN=… node --conditions=source packages/tests/test/encryption/record-stored.ts
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { startKubeApiserver } from '@cluster-apiserver/testkit/kube-apiserver';
import { startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { bodyFor, configurationWith, create, getObject, keyOf, nameFor, prepare } from './stored-by-kube-apiserver.ts';

const file = path.resolve(import.meta.dirname, '..', '..', 'data', 'stored-elsewhere', 'recorded.json');
const cleanup = new CleanupStack();
try {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'record-stored-'));
  cleanup.defer('files', () => fs.rmSync(home, { recursive: true }));
  const socket = path.join(home, 'kms.sock');
  const plugin = await startPlugin(socket);
  cleanup.defer('plugin', () => plugin.stop());
  const etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  const configuration = path.join(home, 'encryption.json');
  fs.writeFileSync(configuration, configurationWith(socket));
  const server = await startKubeApiserver({ etcd, flags: [`--encryption-provider-config=${configuration}`] });
  cleanup.defer('kube-apiserver', () => server.stop());

  const values: object[] = [];
  const record = async (resource: string, collection: string, name: string): Promise<void> => {
    const key = keyOf(resource, collection, name);
    const target = `${collection}/${name}`;
    const stored = await rawValue(etcd.endpoints[0] ?? '', key);
    values.push({
      resource,
      key,
      path: target,
      stored: stored?.toString('base64'),
      object: await getObject(server, target),
    });
  };
  const collections = await prepare(server);
  const definitions = 'apiextensions.k8s.io/customresourcedefinitions';
  for (const [resource, collection] of collections) {
    if (resource === definitions) continue;
    const name = nameFor(resource, 'theirs');
    await create(server, collection, bodyFor(resource, name));
    await record(resource, collection, name);
    // A policy or webhook would decide about the next ones.
    await server.request('DELETE', `${collection}/${name}`);
  }
  await record(definitions, collections.get(definitions) ?? '', 'lamps.workshop.example');
  fs.writeFileSync(file, `${JSON.stringify(values, null, 1)}\n`);
} finally {
  await cleanup.close();
}
