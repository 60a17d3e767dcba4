/** Unused tokens over two years, with a real etcd. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Clock, systemClock } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Registry } from '@cluster-apiserver/registry';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { openStore, type OpenedStore } from '../../../storage/test/open-store.ts';
import { changeObject, createObject, openTestRegistry, readObject, resourceIn, untimed } from '../../test/objects.ts';
import { beginTerm } from '../../test/term.ts';
import { quietTurns } from '../../test/turns.ts';
import { cleanTokens } from './clean-tokens.ts';

const lastUsed = 'kubernetes.io/legacy-token-last-used';
const invalidSince = 'kubernetes.io/legacy-token-invalid-since';
const account = 'kubernetes.io/service-account.name';
const uid = 'kubernetes.io/service-account.uid';
const tokenType = 'kubernetes.io/service-account-token';
const tracking = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking' };

let nowMs = Date.UTC(2026, 0, 1);
/** What is to happen on the next day. */
let daily = (): void => {};
/** The date is the test's, and everything else takes real time. */
const clock: Clock = {
  ...systemClock,
  now: () => nowMs,
  after: (delayMs, callback) => {
    if (delayMs < 86_400_000) return systemClock.after(delayMs, callback);
    daily = callback;
    return () => {};
  },
};
/** Memory has caught up with everything before. */
async function goTo(date: string): Promise<void> {
  await secrets().collection.waitUntilFresh(undefined, untimed);
  nowMs = Date.parse(date);
  daily();
}

let etcd: RealEtcd;
let opened: OpenedStore;
let registry: Registry;
let stop: () => Promise<void>;
beforeAll(async () => {
  etcd = await startEtcd();
  opened = openStore(etcd.endpoints);
  registry = openTestRegistry(opened.store, clock);
});
afterAll(async () => {
  await stop();
  await registry.cache.close();
  opened.client.close();
  await etcd.stop();
});

const secrets = () => resourceIn(registry, 'secrets');
const createSecret = (name: string, { labels = {}, annotations = {}, type = tokenType } = {}): Promise<KubeObject> =>
  createObject(secrets(), { namespace: 'n', name }, {
    type,
    metadata: { labels, annotations: { [account]: 'a', ...annotations } },
  } as object);
const labelOf = async (name: string): Promise<string | undefined> =>
  (await readObject(secrets(), { namespace: 'n', name }))?.metadata.labels?.[invalidSince];

const kept = [
  ['used', { labels: { [lastUsed]: '2026-02-01' } }],
  ['used at no date', { labels: { [lastUsed]: 'yesterday' } }],
  ['of an account before', { annotations: { [uid]: 'another' } }],
  ['of no account', { annotations: { [account]: 'b' } }],
  ['of another type', { type: 'Opaque' }],
  ['unlisted', {}],
] as const;
const cleaned = [
  ['never used', {}],
  ['used long ago', { labels: { [lastUsed]: '2025-12-01' } }],
  ['marked at no date', { labels: { [invalidSince]: 'soon' } }],
] as const;
const nameOf = (title: string): string => title.replaceAll(' ', '-');

test('a token that its account lists is marked after a year without use, and deleted after another one', async () => {
  for (const [title, more] of [...kept, ...cleaned]) await createSecret(nameOf(title), more);
  await createSecret('used-in-vain');
  await createSecret('z');
  const listed = [...kept, ...cleaned].map(([title]) => nameOf(title)).filter((name) => name !== 'unlisted');
  const references = [...listed, 'used-in-vain', 'z', 'new'].map((name) => ({ name }));
  await createObject(resourceIn(registry, 'serviceaccounts'), { namespace: 'n', name: 'a' }, {
    secrets: references,
  } as object);
  await createObject(resourceIn(registry, 'configmaps'), tracking, { data: { since: '2026-01-01' } } as object);
  ({ stop } = beginTerm(cleanTokens, { api: registry.api, clock, signSecretToken: async () => 'token' }));

  await goTo('2026-06-01');
  await createSecret('new');
  // Uses have not been noted for a year.
  await goTo('2027-01-01');
  await quietTurns();
  await goTo('2027-01-02');
  for (const [title] of cleaned)
    await until(`${title} is marked`, async () => (await labelOf(nameOf(title))) === '2027-01-02' || undefined);
  await until('the last one is marked', async () => (await labelOf('z')) === '2027-01-02' || undefined);
  for (const [title] of kept) expect([title, await labelOf(nameOf(title))]).toEqual([title, undefined]);
  expect(await labelOf('new')).toBeUndefined();

  const setLabel = (name: string, label: string, value: string): Promise<void> =>
    changeObject(secrets(), { namespace: 'n', name }, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, labels: { ...metadata.labels, [label]: value } },
    }));
  await setLabel('used-in-vain', lastUsed, '2027-05-01');
  // A year after the mark is not more than a year.
  await goTo('2028-01-02');
  await quietTurns();
  expect(await labelOf('never-used')).toBe('2027-01-02');
  await goTo('2028-01-03');
  for (const [title] of cleaned)
    await until(
      `${title} is gone`,
      async () => !(await readObject(secrets(), { namespace: 'n', name: nameOf(title) })) || undefined,
    );
  expect(await labelOf('used-in-vain')).toBe('2027-01-02');
  for (const [title] of kept)
    expect(await readObject(secrets(), { namespace: 'n', name: nameOf(title) })).toBeDefined();
});
