/**
 * Records what kube-apiserver stores, as bytes and as it answers a client:
 *
 *   KUBE_APISERVER_BIN=… ETCD_BIN=… node --conditions=source packages/tests/test/encryption/record-stored.ts
 */
import fs from 'node:fs';
import { CleanupStack } from '@cluster-apiserver/base';
import { rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { bodyFor, create, getObject, keyOf, nameFor, recordedFile, startOnEtcd } from './stored-by-kube-apiserver.ts';

const cleanup = new CleanupStack();
try {
  const { etcd, server, collections } = await startOnEtcd(cleanup);
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
  fs.writeFileSync(recordedFile, `${JSON.stringify(values, null, 1)}\n`);
} finally {
  await cleanup.close();
}
