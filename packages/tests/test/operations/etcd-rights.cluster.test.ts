import { afterAll, expect, test } from '@jest/globals';
import { CleanupStack, requireValue } from '@cluster-apiserver/base';
import { etcdctl, type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { freePorts } from '@cluster-apiserver/testkit/free-ports';
import { repetitions } from '@cluster-apiserver/testkit/soak';
import { until } from '@cluster-apiserver/testkit/until';
import { serverUsage, testAuthority } from '../../../certificates/test/test-authority.ts';
import { describeIf } from '../describe-if.ts';
import { loadReplicas } from './replica-load.ts';
import { type Replica, startReplicas } from './replicas.ts';

const slowTestMs = 180_000;
const rounds = repetitions({ ci: 1, soak: 5 });
const responsesBetween = 100;
const recoveryMs = 60_000;
/** The member shows its certificate to itself, too. */
const clientUsage = '1.3.6.1.5.5.7.3.2';

const cleanup = new CleanupStack();
afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

/** How the user of the replicas loses rights, as arguments of etcdctl. */
const losses = [
  { what: 'to write', args: ['role', 'grant-permission', 'ours', '--prefix=true', 'read', '/registry/'] },
  { what: 'to everything', args: ['role', 'revoke-permission', 'ours', '--prefix=true', '/registry/'] },
  { what: 'of its role', args: ['user', 'revoke-role', 'apiserver', 'ours'] },
] as const;

describeIf(etcdctl !== undefined, 'rights in etcd', 'there is no etcdctl', () => {
  test(
    'that are lost make replicas refuse and not ready; granted again they serve, and nothing is lost or false',
    async () => {
      const authority = await testAuthority('etcd');
      const [server, root, own] = await Promise.all([
        authority.issue({ subject: [['CN', 'member']], usages: [serverUsage, clientUsage], hosts: ['127.0.0.1'] }),
        authority.issue({ subject: [['CN', 'root']] }),
        authority.issue({ subject: [['CN', 'apiserver']] }),
      ]);
      const client = { ca: authority.certificate, cert: root.certificate, key: root.privateKey };
      const etcd = await startEtcd({ tls: { authority: authority.certificate, ...server, client } });
      cleanup.defer('etcd', () => etcd.stop());
      const judged = await listenForJudge(etcd);
      const files = { 'etcd-ca.crt': authority.certificate, 'etcd.crt': own.certificate, 'etcd.key': own.privateKey };
      const flags = ['--etcd-cafile=file:etcd-ca.crt', '--etcd-certfile=file:etcd.crt', '--etcd-keyfile=file:etcd.key'];
      const replicas = await startReplicas({
        etcdEndpoints: etcd.endpoints,
        replicas: [
          { files, flags },
          { files, flags },
        ],
      });
      cleanup.defer('replicas', () => replicas.stop());
      const urls = replicas.all.flatMap(({ url }) => [url, url]);
      // The judge begins to read before etcd asks who it is.
      const load = await loadReplicas(replicas, { etcdEndpoints: [judged], urls }, cleanup);
      etcd.control('role', 'add', 'ours');
      grant(etcd);
      for (const [user, role] of [
        ['root', 'root'],
        ['apiserver', 'ours'],
      ] as const) {
        etcd.control('user', 'add', user, '--no-password');
        etcd.control('user', 'grant-role', user, role);
      }
      etcd.control('auth', 'enable');
      for (let round = 0; round < rounds; round++)
        for (const { what, args } of losses) {
          await load.waitForSuccesses(responsesBetween);
          etcd.control(...args);
          for (const replica of replicas.all)
            await until(`a replica that is not ready without the right ${what}`, async () => {
              return (await readiness(replica)) === 500 || undefined;
            });
          await load.waitForResponses(responsesBetween);
          grant(etcd);
          if (what === 'of its role') etcd.control('user', 'grant-role', 'apiserver', 'ours');
          for (const replica of replicas.all)
            await until('a ready replica', async () => (await readiness(replica)) === 200 || undefined, recoveryMs);
        }
      await load.waitForSuccesses(responsesBetween);
      etcd.control('auth', 'disable');
      const { violations, late } = await load.judge();
      expect(violations).toEqual([]);
      expect(late).toEqual([]);
      for (const replica of replicas.all) expect(replica.log()).not.toMatch(/panic|unexpected error|\n\s+at /);
    },
    slowTestMs,
  );
});

const grant = (etcd: RealEtcd): void =>
  void etcd.control('role', 'grant-permission', 'ours', '--prefix=true', 'readwrite', '/registry/');

/** Restarts the member with one more address, where the judge needs no certificate. */
async function listenForJudge({ members, endpoints }: RealEtcd): Promise<string> {
  const [member, endpoint] = [requireValue(members[0]), requireValue(endpoints[0])];
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  await member.signal('SIGKILL');
  await member.start('--listen-client-urls', `${endpoint},${url}`);
  return url;
}

const readiness = async (replica: Replica): Promise<number> => (await replica.request('GET', '/readyz')).status;
