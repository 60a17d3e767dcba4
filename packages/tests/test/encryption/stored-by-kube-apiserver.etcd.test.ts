/** Values that a kube-apiserver stored, with each provider: they are read as it read them, and rewritten without a loss. */
import fs from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { putRaw, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { until } from '@cluster-apiserver/testkit/until';
import { services } from '../../../kinds/test/services.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

const data = path.resolve(import.meta.dirname, '..', '..', 'data', 'stored-by-kube-apiserver');
const read = (name: string): string => fs.readFileSync(path.join(data, name), 'utf8');

interface Stored {
  readonly key: string;
  readonly value: string;
}
interface ServedValue extends Stored {
  readonly kind: Kind;
  readonly path: string;
}

const stored = kinds(services);

function servedAs(value: Stored): ServedValue | undefined {
  const kind = stored.find(({ storage }) => value.key.startsWith(`/registry/${storage.prefix}/`));
  if (!kind) return undefined;
  const [first = '', second = ''] = value.key.slice(`/registry/${kind.storage.prefix}/`.length).split('/');
  const group = kind.group === '' ? '/api/v1' : `/apis/${kind.apiVersion}`;
  const place = kind.namespaced ? `/namespaces/${first}/${kind.plural}/${second}` : `/${kind.plural}/${first}`;
  return { ...value, kind, path: `${group}${place}` };
}

/** Without the fields that differ between the recorded runs, or between two etcds. */
function comparable(object: KubeObject, isSameRun: boolean): unknown {
  const { resourceVersion: _, uid, creationTimestamp, managedFields = [], ...metadata } = object.metadata;
  // Each run has a certificate authority of its own.
  const isOwnAuthority = !isSameRun && metadata.name === 'kube-root-ca.crt';
  const entries = managedFields.map(({ time, ...entry }) => ({ ...entry, ...(isSameRun && { time }) }));
  return {
    ...object,
    ...(isOwnAuthority && { data: Object.keys(Object(object['data'])) }),
    metadata: {
      ...metadata,
      ...(managedFields.length > 0 && { managedFields: entries }),
      ...(isSameRun && { uid, creationTimestamp }),
    },
  };
}

const { items: answers } = JSON.parse(read('read.json')) as { readonly items: readonly KubeObject[] };
const answerTo = ({ kind, path: place }: ServedValue): KubeObject | undefined =>
  answers.find(
    (item) =>
      item.kind === kind.kind &&
      item.apiVersion === kind.apiVersion &&
      place.endsWith(`/namespaces/${item.metadata.namespace}/${kind.plural}/${item.metadata.name}`),
  );

describe.each(['identity', 'aescbc', 'aesgcm', 'secretbox'])('with %s', (provider) => {
  const values = JSON.parse(read(`${provider}.json`)) as readonly Stored[];
  const served = values.flatMap((value) => servedAs(value) ?? []);
  const unserved = values.filter((value) => !servedAs(value));

  let etcd: RealEtcd;
  let server: TestServer;
  const url = (): string => etcd.endpoints[0] as string;
  const serve = (): Promise<TestServer> =>
    serveKinds(kinds, {
      etcd,
      flags: [
        '--encryption-provider-config=recorded',
        '--system-namespaces=',
        // The last one deletes the recorded request, which is old; the others create objects in namespaces.
        '--controllers=-serviceaccount-controller,-root-ca-certificate-publisher-controller,-legacy-token-tracking-controller,-certificatesigningrequest-cleaner-controller',
      ],
      files: { recorded: read(`${provider}.encryption.yaml`) },
      // The recorded ClusterRole `view` has rules for kinds that are not served.
      errorsExpected: true,
    });
  const get = async (place: string): Promise<KubeObject> => {
    const { status, body } = await server.request('GET', place);
    expect(status).toBe(200);
    return body;
  };

  beforeAll(async () => {
    etcd = await startEtcd();
    for (const { key, value } of values) await putRaw(url(), key, Buffer.from(value, 'base64'));
    server = await serve();
  });
  afterAll(async () => {
    await server.close();
    await etcd.stop();
  });

  test('most kinds that are served have a value', () => {
    expect(served.length).toBeGreaterThanOrEqual(11);
    expect(served.length + unserved.length).toBe(values.length);
  });

  test.each(served)('$key is read as kube-apiserver read it, and no less after it was rewritten', async (value) => {
    const isSameRun = provider === 'identity';
    const before = await get(value.path);
    const answer = answerTo(value);
    if (answer) expect(comparable(before, isSameRun)).toEqual(comparable(answer, isSameRun));
    else expect(before).toMatchObject({ kind: value.kind.kind, metadata: { name: path.basename(value.key) } });

    const patched = await server.request('PATCH', value.path, {}, 'application/merge-patch+json');
    expect(patched.status).toBe(200);
    const rewritten = (await rawValue(url(), value.key)) as Buffer;
    expect(rewritten.toString('latin1')).toMatch(provider === 'identity' ? /^\{/ : /^k8s:enc:\w+:v1:key1:/);
    expect(comparable(await get(value.path), true)).toEqual(comparable(before, true));
  });

  test(`what is not served stays as it is: ${unserved.map(({ key }) => key).join(' ')}`, async () => {
    for (const { key, value } of unserved) expect(await rawValue(url(), key)).toEqual(Buffer.from(value, 'base64'));
  });

  test('a new server reads what was rewritten', async () => {
    const seen = new Map<string, unknown>();
    for (const { path: place } of served) seen.set(place, comparable(await get(place), true));
    await server.close();
    server = await serve();
    for (const [place, object] of seen) expect(comparable(await get(place), true)).toEqual(object);
  });

  // The other two do not authenticate the key.
  if (provider === 'aesgcm' || provider === 'secretbox')
    test('a value under the key of another object is not decrypted', async () => {
      const key = '/registry/serviceaccounts/stored/other';
      const robot = values.find((one) => one.key === '/registry/serviceaccounts/stored/robot');
      await putRaw(url(), key, Buffer.from(robot?.value ?? '', 'base64'));
      const status = await until('the change', async () => {
        const response = await server.request('GET', '/api/v1/namespaces/stored/serviceaccounts/other');
        return response.status === 404 ? undefined : response.status;
      });
      expect(status).toBe(500);
      etcd.control('del', key);
    });
});
