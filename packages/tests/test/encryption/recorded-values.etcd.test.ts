/** Values that a kube-apiserver wrote, of each kind that both servers store: what it answered is what this server answers. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import { startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { until } from '@cluster-apiserver/testkit/until';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { file, flags } from './configuration.ts';
import { runStorage } from './run-storage.ts';
import { configurationWith, lamps, recordedValues as values } from './stored-by-kube-apiserver.ts';

const socket = path.join(os.tmpdir(), `kms-recorded-${process.pid}.sock`);
const configuration = configurationWith(socket);
const cleanup = new CleanupStack();
let server: TestServer;

beforeAll(async () => {
  const plugin = await startPlugin(socket);
  cleanup.defer('plugin', () => plugin.stop());
  const etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  for (const { key, stored: value } of values) await putRaw(etcd.endpoints[0] ?? '', key, Buffer.from(value, 'base64'));
  server = await serveKinds(kinds, { etcd, flags, files: { [file]: configuration } });
  cleanup.defer('server', () => server.close());
  await until('the custom kind', async () => (await server.statusOf('GET', lamps)) === 200 || undefined);
});
afterAll(() => cleanup.close());

test.each(values)('$resource', async ({ path: target, object }) => {
  const { status, body } = await server.request('GET', target);
  expect(status).toBe(200);
  expect(withoutStatus(body)).toEqual(withoutStatus(object));
});

test('storage rewrite can read all values', async () => {
  const { lines } = await runStorage(server.etcd, configuration, 'rewrite', '--dry-run');
  expect(lines.at(-1)).toMatch(/ 0 unreadable/);
});

/** Controllers of this server write the status, too. Its etcd has other revisions. */
function withoutStatus({ metadata, ...rest }: KubeObject): object {
  const { resourceVersion: _, managedFields = [], ...others } = metadata;
  const owners = managedFields as readonly { readonly subresource?: string }[];
  return {
    ...rest,
    status: undefined,
    metadata: { ...others, managedFields: owners.filter(({ subresource }) => subresource !== 'status') },
  };
}
