/** Flags of the connections to etcd, and of what is stored there. */
import { afterEach, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { serverUsage, testAuthority } from '../../../certificates/test/test-authority.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { leaseOf } from '@cluster-apiserver/testkit/etcd-gateway';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

const accounts = '/api/v1/namespaces/team/serviceaccounts';

let etcd: RealEtcd;
let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
  await etcd.stop();
});

const canCreate = async (): Promise<number | undefined> =>
  (await server?.request('POST', accounts, { metadata: { name: 'robot' } }))?.status;

test('--etcd-cafile, --etcd-certfile and --etcd-keyfile lead to an etcd that requires client certificates', async () => {
  const authority = await testAuthority('etcd');
  const [member, client] = await Promise.all([
    authority.issue({ subject: [['CN', 'member']], usages: [serverUsage], hosts: ['127.0.0.1'] }),
    authority.issue({ subject: [['CN', 'apiserver']] }),
  ]);
  etcd = await startEtcd({
    tls: {
      authority: authority.certificate,
      ...member,
      client: { ca: authority.certificate, cert: client.certificate, key: client.privateKey },
    },
  });
  server = await serveKinds(kinds, {
    etcd,
    flags: ['--etcd-cafile=ca.crt', '--etcd-certfile=client.crt', '--etcd-keyfile=client.key'],
    files: { 'ca.crt': authority.certificate, 'client.crt': client.certificate, 'client.key': client.privateKey },
  });
  expect(await canCreate()).toBe(201);
});

test('--etcd-election-timeout is that of the members', async () => {
  etcd = await startEtcd({ members: 3, flags: ['--heartbeat-interval=50', '--election-timeout=500'] });
  server = await serveKinds(kinds, { etcd, errorsExpected: true, flags: ['--etcd-election-timeout=500ms'] });
  await (await etcd.leader()).signal('SIGKILL');
  expect(await canCreate()).toBe(201);
});

test.each([
  ['0', false],
  ['1h', true],
])(
  'with --event-ttl=%s events of both groups are written, and whether they expire is %s',
  async (lifetime, expires) => {
    etcd = await startEtcd();
    server = await serveKinds(kinds, { etcd, flags: [`--event-ttl=${lifetime}`] });
    const about = { namespace: 'team', name: 'robot' };
    const events = {
      '/api/v1': { metadata: { name: 'core' }, involvedObject: about },
      '/apis/events.k8s.io/v1': {
        metadata: { name: 'new' },
        regarding: about,
        eventTime: '2026-01-01T00:00:00.000000Z',
        action: 'a',
        reason: 'r',
        type: 'Normal',
        reportingController: 'example.com/robots',
        reportingInstance: 'i',
      },
    };
    for (const [group, event] of Object.entries(events)) {
      const collection = `${group}/namespaces/team/events`;
      const { name } = event.metadata;
      const created = await server.request('POST', collection, event);
      const labelled = { ...event, metadata: { name, labels: { a: 'b' } } };
      const updated = await server.request('PUT', `${collection}/${name}`, labelled);
      expect([created.status, updated.status, updated.body.metadata.labels]).toEqual([201, 200, { a: 'b' }]);
      const lease = await leaseOf(etcd.endpoints[0] as string, `/registry/events/team/${name}`);
      expect(lease !== undefined).toBe(expires);
    }
  },
);
