/** A real kube-apiserver and this server on the same etcd, with the same encryption: each reads what the other writes. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { type KubeApiserver, kubeApiserverProgram } from '@cluster-apiserver/testkit/kube-apiserver';
import { requestHttps } from '@cluster-apiserver/testkit/https-request';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';
import { file, flags, prefixOf } from './configuration.ts';
import { runStorage } from './run-storage.ts';
import {
  bodyFor,
  create,
  encrypted,
  getObject,
  keyOf,
  lamps,
  nameFor,
  startOnEtcd,
  stored,
  storedPrefixes,
} from './stored-by-kube-apiserver.ts';

const tables = 'g=meta.k8s.io;v=v1';
const formats = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  `application/json;as=Table;${tables}`,
  `application/json;as=Table;${tables}beta1`,
  `application/json;as=PartialObjectMetadata;${tables}`,
  `application/json;as=PartialObjectMetadataList;${tables}`,
  `application/vnd.kubernetes.protobuf;as=Table;${tables}`,
  'application/cbor',
  'text/html',
];
const queries = ['', '?limit=1', '?labelSelector=a%3Db', '?includeObject=Object', '?pretty=true'];

/** Descriptions of columns are ours, and a token is for its server. */
const withoutTexts = (key: string, value: unknown): unknown => {
  if (key === 'description' || key === 'continue') return undefined;
  return typeof value === 'string' ? value.replace(/^\d+[smh](?:\d+s)?$/, 'age') : value;
};
const reason = 'no KUBE_APISERVER_BIN names a kube-apiserver';

describeIf(kubeApiserverProgram !== undefined, 'kube-apiserver on the same etcd', reason, () => {
  const cleanup = new CleanupStack();
  let theirs: KubeApiserver;
  let ours: TestServer;
  let collections: ReadonlyMap<string, string>;
  let configuration: string;

  beforeAll(async () => {
    const started = await startOnEtcd(cleanup);
    ({ server: theirs, configuration, collections } = started);
    const { etcd } = started;
    ours = await serveKinds(kinds, { etcd, flags, files: { [file]: configuration } });
    cleanup.defer('server', () => ours.close());
    await until('the custom kind', async () => (await ours.statusOf('GET', lamps)) === 200 || undefined);
  });
  afterAll(() => cleanup.close());

  const getTheirs = (target: string): Promise<KubeObject> => getObject(theirs, target);
  const collectionOf = (resource: string): string => collections.get(resource) ?? '';

  /** Waits for what controllers of kube-apiserver still write to it. */
  async function expectSame(target: string): Promise<void> {
    let [own, other]: unknown[] = [];
    const areEqual = async (): Promise<true | undefined> => {
      [own, other] = [(await ours.request('GET', target)).body, await getTheirs(target)];
      return isDeepStrictEqual(own, other) || undefined;
    };
    await until('equal answers', areEqual).catch(() => expect(own).toEqual(other));
  }

  async function expectProvider(resource: string, name: string): Promise<void> {
    const key = keyOf(resource, collectionOf(resource), name);
    const value = await rawValue(ours.etcd.endpoints[0] ?? '', key);
    if (value === undefined) throw new Error(`nothing is stored under ${key}`);
    const [encrypting] = Object.entries(encrypted).find(([, resources]) => resources.includes(resource)) ?? ['none'];
    expect(prefixOf(value)).toBe(storedPrefixes[encrypting]);
  }

  /** Documents with texts of their own are equal but for these, and for ages, which pass. */
  async function expectSameForm(target: string, accept: string): Promise<void> {
    const ask = async (url: string, ca: Buffer, token: string): Promise<object> => {
      const { status, headers, text } = await requestHttps(`${url}${target}`, { ca, token, headers: { accept } });
      const type = headers['content-type'];
      const isJson = type === 'application/json' && !text.includes('you requested PartialObjectMetadata');
      return { target, accept, status, type, body: isJson ? JSON.parse(text, withoutTexts) : undefined };
    };
    const same = async (): Promise<true | undefined> => {
      [own, other] = await Promise.all([
        ask(ours.url, ours.certificate, ours.token),
        ask(theirs.url, theirs.certificate, theirs.token),
      ]);
      return isDeepStrictEqual(own, other) || undefined;
    };
    let [own, other]: unknown[] = [];
    // A controller of kube-apiserver may write in between.
    await until('equal answers', same).catch(() => expect(own).toEqual(other));
  }

  test('a value of each kind that both servers store is recorded', () => {
    expect(new Set(collections.keys())).toEqual(new Set(stored));
  });

  test.each(stored)('each server reads %s of the other', async (resource) => {
    const collection = collectionOf(resource);
    const names = { theirs: nameFor(resource, 'theirs'), ours: nameFor(resource, 'ours') };
    const patch = { metadata: { labels: { patched: 'ours' } } };
    const label = async (target: string): Promise<void> => {
      const { apiVersion, kind, metadata } = await getTheirs(target);
      const applied = { apiVersion, kind, metadata: { name: metadata.name, labels: { applied: 'theirs' } } };
      expect(await theirs.request('PATCH', `${target}?fieldManager=labels`, applied)).toMatchObject({ status: 200 });
    };
    const mergePatch = async (target: string): Promise<void> =>
      expect(await ours.request('PATCH', target, patch, 'application/merge-patch+json')).toMatchObject({ status: 200 });

    await create(theirs, collection, bodyFor(resource, names.theirs));
    expect(await ours.request('POST', collection, bodyFor(resource, names.ours))).toMatchObject({ status: 201 });
    for (const name of Object.values(names)) {
      const target = `${collection}/${name}`;
      await expectSame(target);
      await expectProvider(resource, name);
      for (const update of [label, mergePatch]) {
        await update(target);
        await expectSame(target);
      }
    }
    await expectSame(collection);
    for (const query of queries)
      await Promise.all(formats.map((format) => expectSameForm(`${collection}${query}`, format)));
    // A policy or webhook would decide about what other tests write.
    await theirs.request('DELETE', `${collection}/${names.theirs}`);
    await ours.request('DELETE', `${collection}/${names.ours}`);
  });

  test('storage rewrite can read all values', async () => {
    const { code, lines } = await runStorage(ours.etcd, configuration, 'rewrite', '--dry-run');
    expect(lines.at(-1)).toMatch(/ 0 unreadable/);
    expect(code).toBe(0);
  });
});
