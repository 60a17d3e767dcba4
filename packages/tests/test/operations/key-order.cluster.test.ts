import { afterAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import type { JudgedLoad } from '../watch/judged-load.ts';
import { loadReplicas } from './replica-load.ts';
import { encryptionFile, type Replica, startReplicas } from './replicas.ts';

const slowTestMs = 180_000;
const rounds = repetitions({ ci: 1, soak: 6 });
const responsesBetween = 100;

const withKeys = (...names: readonly string[]): string =>
  JSON.stringify({
    apiVersion: 'apiserver.config.platform.io/v1',
    kind: 'EncryptionConfiguration',
    resources: [
      {
        resources: ['*.*'],
        providers: [
          { aesgcm: { keys: names.map((name) => ({ name, secret: Buffer.alloc(32, name).toString('base64') })) } },
        ],
      },
    ],
  });

const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

const keyNames = Array.from({ length: rounds + 1 }, (_, at) => `key${at}`);

test(
  'a key that one replica writes with before the other knows it: both heal without a restart, and no event is lost',
  async () => {
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    const replicas = await startReplicas({
      etcdEndpoints: etcd.endpoints,
      replicas: [{ encryption: withKeys('key0') }, { encryption: withKeys('key0') }],
      encryption: withKeys(...keyNames),
    });
    cleanup.defer('replicas', () => replicas.stop());
    const [ahead, behind] = replicas.all as [Replica, Replica];
    // Requests that the replica behind cannot serve have no place in a history, but its watches must heal.
    const load = await loadReplicas(replicas, { etcdEndpoints: etcd.endpoints, urls: [ahead.url, ahead.url] }, cleanup);
    for (let round = 1; round <= rounds; round++) {
      await load.waitForResponses(responsesBetween);
      const known = keyNames.slice(0, round).toReversed();
      const next = [keyNames[round] ?? '', ...known];
      const before = countUnreadable(load);
      await configure(ahead, withKeys(...next));
      await until('watches that cannot read', () => countUnreadable(load) > before || undefined);
      await load.waitForResponses(responsesBetween);
      await configure(behind, withKeys(...next));
      // The values are read again after the reload.
      await until('a list', async () => (await listStatus(behind)) === 200 || undefined);
    }
    // The last watches that could not read may end a little later; from then on nothing is unreadable.
    await load.waitForResponses(responsesBetween);
    expect(await behind.metric('apiserver_watch_cache_unreadable_objects')).toBe(0);
    const healed = countUnreadable(load);
    await load.waitForResponses(responsesBetween);
    expect(countUnreadable(load)).toBe(healed);
    const { violations, late } = await load.judge();
    expect(violations.filter((violation) => !/invalid response.*StorageReadError/.test(violation))).toEqual([]);
    expect(late).toEqual([]);
  },
  slowTestMs,
);

const listStatus = async (replica: Replica): Promise<number> =>
  (await replica.request('GET', '/api/v1/serviceaccounts')).status;

/** How many watches have met something that the replica could not read. */
const countUnreadable = ({ watchers }: JudgedLoad): number =>
  watchers
    .flatMap(({ stream }) => stream.segments)
    .filter(({ ending }) => ending.how === 'invalid' && ending.what.includes('StorageReadError')).length;

/** Resolves when the replica uses it. */
async function configure(replica: Replica, text: string): Promise<void> {
  const metric = 'apiserver_encryption_config_controller_automatic_reloads_total';
  const reloads = await replica.metric(metric, { status: 'success' });
  fs.writeFileSync(replica.file(encryptionFile), text);
  await until('the reload', async () => (await replica.metric(metric, { status: 'success' })) > reloads || undefined);
}
