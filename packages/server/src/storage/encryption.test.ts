import { CleanupStack, seededRandom } from '@cluster-apiserver/base';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { StoredKinds } from '@cluster-apiserver/registry';
import { createHealth, createLog, createMetrics } from '@cluster-apiserver/telemetry';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { expect, test } from '@jest/globals';
import { createFileRecords } from '../files/file-records.ts';
import { openEncryption } from './encryption.ts';

const kind = (group: string, plural: string, storagePrefix?: string): Kind =>
  defineKind({
    group,
    version: 'v1',
    kind: plural,
    plural,
    singular: plural,
    description: '',
    fields: {},
    ...(storagePrefix !== undefined && { storage: { prefix: storagePrefix } }),
  });

function open(
  lists: readonly object[] | undefined,
  connectKms: object = {},
  kinds: readonly Kind[] = [],
  lines: string[] = [],
) {
  const clock = fakeClock();
  const metrics = createMetrics({ ofProcess: false });
  const configuration = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: lists,
  };
  const context = {
    environment: {
      clock,
      random: seededRandom(1),
      files: { read: async () => Buffer.from(JSON.stringify(configuration)) },
      connectKms,
    },
    metrics,
    log: createLog({ clock, format: 'text', verbosity: 0, pid: 1, write: (line) => lines.push(line) }),
    serverId: '',
    records: createFileRecords(clock, metrics),
    health: createHealth({ clock, checked: () => {}, failed: () => {} }),
  };
  const encryption = lists && { file: { flag: 'encryption-provider-config', path: 'file' }, reloads: false };
  const storedKinds = new StoredKinds('/registry', kinds);
  return openEncryption(encryption, storedKinds, context as never, new CleanupStack()); // it uses no more of it
}

test('the providers of an object are found by the place of its kind, which may have several segments', async () => {
  const keyNamed = (name: string) => ({
    secretbox: { keys: [{ name, secret: Buffer.alloc(32, 1).toString('base64') }] },
  });
  const { transformer } = await open(
    [
      { resources: ['customresourcedefinitions.apiextensions.k8s.io'], providers: [keyNamed('definitions')] },
      { resources: ['leases.coordination.k8s.io'], providers: [keyNamed('leases')] },
      { resources: ['*.example.com'], providers: [keyNamed('example')] },
      { resources: ['*.*'], providers: [keyNamed('rest')] },
    ],
    {},
    [
      kind('apiextensions.k8s.io', 'customresourcedefinitions', 'apiextensions.k8s.io/customresourcedefinitions'),
      kind('coordination.k8s.io', 'leases'),
      kind('example.com', 'robots'),
      kind('apiextensions.k8s.io', 'others', 'apiextensions.k8s.io/others'),
    ],
  );
  const nameIn = async (key: string): Promise<string | undefined> => {
    const [prefix] = await transformer.toStorage(Buffer.from('x'), key);
    return prefix?.toString().split(':')[4];
  };
  expect(await nameIn('/registry/apiextensions.k8s.io/customresourcedefinitions/a')).toBe('definitions');
  expect(await nameIn('/registry/apiextensions.k8s.io/others/a')).toBe('rest');
  expect(await nameIn('/registry/leases/n/a')).toBe('leases');
  expect(await nameIn('/registry/robots.example.com/n/a')).toBe('example');
  expect(await nameIn('/registry/unserved.example.com/n/a')).toBe('example');
  expect(await nameIn('/registry/unserved/n/a')).toBe('rest');
});

test('without a configuration an encrypted value names the missing flag, in one line of the log', async () => {
  const lines: string[] = [];
  const { transformer } = await open(undefined, {}, [], lines);
  const value = Buffer.from('k8s:enc:secretbox:v1:key1:xyz');
  for (const key of ['/registry/a/b', '/registry/a/c'])
    expect(() => transformer.fromStorage(value, key)).toThrow(
      'the value begins with "k8s:enc:secretbox:v1:key1:", and --encryption-provider-config is not set',
    );
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('--encryption-provider-config is not set" key="/registry/a/b"');
  expect(transformer.fromStorage(Buffer.from('{}'), '/registry/a/d')).toMatchObject({ stale: false });
});

test('plugins that were opened are closed if another provider of the configuration fails', async () => {
  let [opened, closed] = [0, 0];
  const connectKms = {
    v1: () => {
      throw new Error('no connection');
    },
    v2: () => {
      opened++;
      return { status: () => Promise.reject(new Error('down')), close: () => closed++ };
    },
  };
  const plugin = (name: string, apiVersion = 'v2') => ({ kms: { apiVersion, name, endpoint: `unix:///${name}` } });
  const lists = [
    { resources: ['a'], providers: [plugin('one')] },
    { resources: ['b'], providers: [plugin('two'), plugin('three', 'v1'), plugin('four')] },
  ];
  await expect(open(lists, connectKms)).rejects.toThrow('no connection');
  expect([opened, closed]).toEqual([3, 3]);
});
