/** A kind moves to an etcd of its own while replicas serve it, as docs/scaling.md says. No acknowledged write is lost. */
import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { endProcess } from '@cluster-apiserver/testkit/child-process';
import { canBumpRevision, etcdctl, type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { allKeys, rawValue } from '@cluster-apiserver/testkit/etcd-gateway';
import { until } from '@cluster-apiserver/testkit/until';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { lampDefinition } from '../custom-sample.ts';
import { describeIf } from '../describe-if.ts';
import { serveKinds, type TestServer } from '../serve-kinds.ts';

const slowTestMs = 120_000;

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const admission = '/apis/admissionregistration.k8s.io/v1';
const accounts = '/api/v1/namespaces/a/serviceaccounts';
const lamps = '/apis/workshop.example/v1/namespaces/a/lamps';
const prefix = '/registry/workshop.example/lamps/';
const mergePatch = 'application/merge-patch+json';
const lamp = (name: string, metadata: object = {}): object => ({
  apiVersion: 'workshop.example/v1',
  kind: 'Lamp',
  metadata: { name, ...metadata },
  spec: { color: 'red', watts: 0 },
});

const policy = {
  metadata: { name: 'lamps-move' },
  spec: {
    failurePolicy: 'Fail',
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ['workshop.example'],
          apiVersions: ['*'],
          resources: ['lamps', 'lamps/*'],
          operations: ['CREATE', 'UPDATE', 'DELETE'],
        },
      ],
    },
    validations: [{ expression: 'false', message: 'lamps move to another etcd; try again later' }],
  },
};
const binding = { metadata: { name: 'lamps-move' }, spec: { policyName: 'lamps-move', validationActions: ['Deny'] } };

const cleanup = new CleanupStack();
let main: RealEtcd;
let own: RealEtcd;
let servers: TestServer[];

const serve = (...flags: readonly string[]): Promise<TestServer> =>
  serveKinds(kinds, { etcd: main, flags, errorsExpected: true });

beforeAll(async () => {
  main = await startEtcd({ encrypted: true });
  cleanup.defer('etcd', () => main.stop());
  own = await startEtcd({ encrypted: true });
  cleanup.defer('own etcd', () => own.stop());
  servers = [await serve(), await serve()];
  cleanup.defer('servers', async () => void (await Promise.all(servers.map((server) => server.close()))));
}, slowTestMs);
afterAll(() => cleanup.close(), slowTestMs);

const request = (at: number, ...of: Parameters<TestServer['request']>): Promise<JsonResponse> =>
  (servers[at % servers.length] as TestServer).request(...of);
const untilServed = (server: TestServer): Promise<true> =>
  until('the kind', async () => (await server.statusOf('GET', lamps)) === 200 || undefined);

function startMirror(): ChildProcess {
  const [from = '', to = ''] = [main.endpoints[0], own.endpoints[0]];
  const mirror = spawn(String(etcdctl), ['make-mirror', '--endpoints', from, '--prefix', prefix, to], {
    env: { ...process.env, ETCDCTL_API: '3' },
    stdio: 'ignore',
  });
  cleanup.defer('mirror', () => void mirror.kill());
  return mirror;
}

const contentOf = async (etcd: RealEtcd): Promise<string> => {
  const url = etcd.endpoints[0] ?? '';
  const keys = (await allKeys(url)).filter((key) => key.startsWith(prefix));
  const values = await Promise.all(keys.map((key) => rawValue(url, key)));
  return JSON.stringify(keys.map((key, index) => [key, values[index]?.toString('base64')]));
};

/** Writes through both replicas until it is stopped, and knows what was acknowledged. */
function startWriter() {
  const acknowledged = new Map<string, number>();
  let denied = 0;
  let isStopped = false;
  const write = async (): Promise<void> => {
    for (let count = 0; !isStopped; count++) {
      const name = `lamp-${count % 10}`;
      const watts = count + 1;
      const body = { spec: { watts } };
      // A replica that is being replaced answers nothing; such a write is not acknowledged.
      const answer = await request(count, 'PATCH', `${lamps}/${name}`, body, mergePatch).catch(() => undefined);
      if (answer?.status === 200) acknowledged.set(name, watts);
      if (answer?.status === 422) denied++;
    }
  };
  const writing = write();
  return {
    acknowledged,
    denied: () => denied,
    stop: async () => {
      isStopped = true;
      await writing;
    },
  };
}

describeIf(canBumpRevision, 'a kind', 'etcdctl is too old', () => {
  test(
    'moves with all acknowledged writes; older watches end with 410',
    async () => {
      await request(0, 'POST', definitions, lampDefinition);
      for (const server of servers) await untilServed(server);
      for (let count = 0; count < 10; count++) await request(count, 'POST', lamps, lamp(`lamp-${count}`));
      const { body: owner } = await request(0, 'POST', accounts, { metadata: { name: 'owner' } });
      const ownerReferences = [{ apiVersion: 'v1', kind: 'ServiceAccount', name: 'owner', uid: owner.metadata.uid }];
      await request(0, 'POST', lamps, lamp('owned', { ownerReferences }));
      const { body: before } = await request(0, 'GET', lamps);

      // Its revisions begin beyond those that clients know.
      await own.restore(own.snapshot('empty'), { bumpRevision: true });
      const writer = startWriter();
      const mirror = startMirror();
      await until('writes', () => writer.acknowledged.size === 10 || undefined);
      await request(0, 'POST', `${admission}/validatingadmissionpolicies`, policy);
      await request(0, 'POST', `${admission}/validatingadmissionpolicybindings`, binding);
      // Both replicas deny: the writer takes them in turn.
      const isDeniedBy = async (at: number): Promise<boolean> =>
        (await request(at, 'DELETE', `${lamps}/lamp-0?dryRun=All`)).status === 422;
      for (const at of [0, 1]) await until('a denial', async () => (await isDeniedBy(at)) || undefined);
      await until('the mirror', async () => (await contentOf(main)) === (await contentOf(own)) || undefined);

      const overrides = `--etcd-servers-overrides=workshop.example/lamps#${own.endpoints.join(';')}`;
      for (const at of [0, 1]) {
        const next = await serve(overrides);
        await untilServed(next);
        const last = servers[at] as TestServer;
        servers[at] = next;
        await last.close();
        // The collector deletes without admission, wherever it runs.
        if (at === 0) await request(0, 'DELETE', `${accounts}/owner`);
      }
      for (const at of [0, 1])
        await until(
          'the collection',
          async () => (await request(at, 'GET', `${lamps}/owned`)).status === 404 || undefined,
        );
      await endProcess(mirror);
      const written = new Map(writer.acknowledged);
      await request(0, 'DELETE', `${admission}/validatingadmissionpolicybindings/lamps-move`);
      await request(0, 'DELETE', `${admission}/validatingadmissionpolicies/lamps-move`);
      await until(
        'writes',
        () => [...writer.acknowledged].every(([name, watts]) => watts > (written.get(name) ?? 0)) || undefined,
      );
      await writer.stop();

      expect(writer.denied()).toBeGreaterThan(0);
      for (const at of [0, 1]) {
        const { body } = await request(at, 'GET', lamps);
        const found = body.items?.map((item) => [
          item.metadata.name,
          (item as unknown as { spec: { watts: number } }).spec.watts,
        ]);
        expect(new Map(found as [string, number][])).toEqual(writer.acknowledged);
      }
      const watch = await (servers[0] as TestServer).open(
        'GET',
        `${lamps}?watch=1&resourceVersion=${before.metadata.resourceVersion}`,
      );
      expect(await text(watch)).toContain('"code":410');
    },
    slowTestMs,
  );
});
