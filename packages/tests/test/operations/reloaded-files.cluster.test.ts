import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fs from 'node:fs';
import path from 'node:path';
import { CleanupStack, requireValue, sleep, systemClock as clock } from '@cluster-apiserver/base';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { loadReplicas } from './replica-load.ts';
import { encryptionWith, type ReloadedFile, reloadedFiles } from './reloaded-files.ts';
import { type Replica, type Replicas, startReplicas } from './replicas.ts';

const slowTestMs = 300_000;
const responsesBetween = 50;
/** The files are read every second. */
const reloadMs = 30_000;
const reloadsMetric = 'apiserver_configuration_file_reloads_total';

/** What happens to a file; `next` would be valid. */
interface Damage {
  readonly how: string;
  readonly leavesNothing?: true;
  damage(file: string, next: string): void;
  /** For what must be gone before the file is written again. */
  repair?(file: string): void;
}

const allDamages: readonly Damage[] = [
  { how: 'half-written', damage: (file, next) => fs.writeFileSync(file, next.slice(0, next.length / 2)) },
  {
    how: 'a directory',
    leavesNothing: true,
    damage: (file) => {
      fs.rmSync(file);
      fs.mkdirSync(file);
    },
    repair: (file) => fs.rmdirSync(file),
  },
  { how: 'emptied', leavesNothing: true, damage: (file) => fs.writeFileSync(file, '') },
  { how: 'gone', leavesNothing: true, damage: (file) => fs.rmSync(file) },
  {
    how: 'of another kind',
    damage: (file) => fs.writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [{}] })),
  },
];
const damages = allDamages.slice(0, repetitions({ ci: 2, soak: allDamages.length }));
/** Changes of each file within a few seconds. */
const stormChanges = repetitions({ ci: 30, soak: 300 });
const stormPauseMs = 50;

const cleanup = new CleanupStack();
let etcd: RealEtcd;
let replicas: Replicas;
let replica: Replica;
let turn = 0;

beforeAll(async () => {
  etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  const first = await Promise.all(reloadedFiles.map(async ({ name, content }) => [name, await content(0)] as const));
  const admission = {
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AdmissionConfiguration',
    plugins: [
      {
        name: 'ValidatingAdmissionPolicy',
        configuration: {
          apiVersion: 'apiserver.config.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicyConfiguration',
          staticManifestsDir: 'file:policies',
        },
      },
    ],
  };
  // Every replica has the others.
  const flags = reloadedFiles
    .filter(({ name }) => name !== 'encryption.yaml' && name !== 'signing.key')
    .map(({ flag, name }) => `--${flag}=file:${flag === 'admission-control-config-file' ? 'admission.yaml' : name}`);
  replicas = await startReplicas({
    etcdEndpoints: etcd.endpoints,
    replicas: [
      {
        files: { ...Object.fromEntries(first), 'admission.yaml': JSON.stringify(admission) },
        flags: [
          ...flags,
          '--authorization-mode=ABAC,RBAC,Webhook',
          '--audit-log-path=file:audit.log',
          '--requestheader-allowed-names=front',
        ],
      },
      { encryption: encryptionWith('first') },
    ],
    encryption: encryptionWith('first'),
  });
  cleanup.defer('replicas', () => replicas.stop());
  replica = requireValue(replicas.all[0]);
}, slowTestMs);
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

test(
  'a damaged file keeps its previous content in use, is named in log and metric, and its repaired content is taken',
  async () => {
    const load = await loadReplicas(replicas, { etcdEndpoints: etcd.endpoints }, cleanup);
    for (const { how, leavesNothing, damage, repair = () => {} } of damages) {
      const next = (await nextContents()).filter(({ mayBeMissing }) => !(leavesNothing && mayBeMissing));
      const logged = replica.log().length;
      const [hashes, failures] = [await activeHashes(), await countReloads('failure')];
      for (const { file, content } of next) damage(file, content);
      for (const { flag, file, name } of next) {
        const what = `${name}, ${how}`;
        await until(
          `the failed reload of ${what}`,
          async () => (await countReloads('failure')).get(flag) !== failures.get(flag) || undefined,
          reloadMs,
        );
        const isNamed = (line: string): boolean =>
          line.startsWith('E') && line.includes(flag) && [file, path.dirname(file)].some((one) => line.includes(one));
        await until(`a line of the log about ${what}`, () => {
          return replica.log().slice(logged).split('\n').some(isNamed) || undefined;
        });
      }
      await load.waitForSuccesses(responsesBetween);
      expect([how, await activeHashes()]).toEqual([how, hashes]);
      const successes = await countReloads('success');
      for (const { file, content } of next) {
        repair(file);
        fs.writeFileSync(`${file}~`, content);
        fs.renameSync(`${file}~`, file);
      }
      for (const { flag, name } of next)
        await until(
          `the reload of ${name} after it was ${how}`,
          async () => (await countReloads('success')).get(flag) !== successes.get(flag) || undefined,
          reloadMs,
        );
      const repaired = await activeHashes();
      for (const { flag } of next) expect([flag, repaired.get(flag)]).not.toEqual([flag, hashes.get(flag)]);
      await load.waitForSuccesses(responsesBetween);
    }
    await storm();
    const { violations, late } = await load.judge();
    expect(violations).toEqual([]);
    expect(late).toEqual([]);
  },
  slowTestMs,
);

/** Each file is replaced many times within a second. No more reloads than polls may come of it. */
async function storm(): Promise<void> {
  const before = await countReloads('success');
  const contents = [await nextContents(), await nextContents()];
  const beganMs = clock.monotonicMs();
  for (let change = 0; change < stormChanges; change++) {
    for (const { file, content } of contents[change % 2] ?? []) fs.writeFileSync(file, content);
    await sleep(clock, stormPauseMs);
  }
  const last = contents[(stormChanges - 1) % 2] ?? [];
  await until('the last content', async () => (await failedFlags()).length === 0 || undefined, reloadMs);
  const seconds = Math.ceil((clock.monotonicMs() - beganMs) / 1_000);
  const after = await countReloads('success');
  // Two files of a pair are two records of one reload.
  for (const { flag } of last)
    expect((after.get(flag) ?? 0) - (before.get(flag) ?? 0)).toBeLessThanOrEqual(2 * (seconds + 1));
}

interface NextContent extends Omit<ReloadedFile, 'content'> {
  readonly file: string;
  readonly content: string;
}

/** For each file of the replica, a valid content that it has not had. */
async function nextContents(): Promise<readonly NextContent[]> {
  turn++;
  const { certificate, privateKey } = await replicas.issueServing();
  const files = await Promise.all(reloadedFiles.map(async (one) => ({ ...one, content: await one.content(turn) })));
  return [
    ...files,
    { name: 'server.crt', flag: 'tls-cert-file', content: certificate },
    { name: 'server.key', flag: 'tls-private-key-file', content: privateKey },
  ].map((one) => ({ ...one, file: replica.file(one.name) }));
}

interface Shown {
  readonly flag: string;
  readonly hash?: string;
  readonly restartRequired?: boolean;
  readonly lastReloadError?: object;
}

async function shownFiles(): Promise<readonly Shown[]> {
  const { body } = await replica.request('GET', '/configz');
  return (JSON.parse(body).files as readonly Shown[]).filter(({ restartRequired }) => !restartRequired);
}

/** The content in use, by flag. */
const activeHashes = async (): Promise<ReadonlyMap<string, string>> =>
  new Map((await shownFiles()).map(({ flag, hash = '' }) => [flag, hash]));

const failedFlags = async (): Promise<string[]> =>
  (await shownFiles()).filter(({ lastReloadError }) => lastReloadError).map(({ flag }) => flag);

async function countReloads(status: 'success' | 'failure'): Promise<ReadonlyMap<string, number>> {
  const { body } = await replica.request('GET', '/metrics');
  const series = new RegExp(`^${reloadsMetric}\\{flag="([^"]+)",status="${status}"\\} (\\d+)$`, 'gm');
  return new Map(Array.from(body.matchAll(series), ([, flag = '', count]) => [flag, Number(count)]));
}
