import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { systemClock } from '@cluster-apiserver/base';
import { serverUsage, testAuthority } from '../../../certificates/test/test-authority.ts';
import { openForContract, openStore, within } from '../../test/open-store.ts';
import { type EtcdTls, type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { describeStoreContract } from '../../test/contract/store-contract.ts';
import type { TlsCredentials } from './http2/dial.ts';
import { http2Connect } from './http2-transport.ts';

let etcd: RealEtcd;
let tls: EtcdTls;
beforeAll(async () => {
  const authority = await testAuthority('etcd');
  const [server, client] = await Promise.all([
    authority.issue({ subject: [['CN', 'member']], usages: [serverUsage], hosts: ['127.0.0.1'] }),
    authority.issue({ subject: [['CN', 'apiserver']] }),
  ]);
  tls = {
    authority: authority.certificate,
    ...server,
    client: { ca: authority.certificate, cert: client.certificate, key: client.privateKey },
  };
  etcd = await startEtcd({ tls });
});
afterAll(() => etcd.stop());

const by = (credentials: TlsCredentials) => ({ connect: http2Connect(systemClock, () => credentials) });
const open = (credentials: TlsCredentials) => openStore(etcd.endpoints, by(credentials));

describeStoreContract('the store on etcd behind TLS', async () => openForContract(etcd.endpoints, by(tls.client)));

test('the next connection uses a reloaded certificate', async () => {
  let credentials: TlsCredentials = { ca: tls.authority };
  const { client, store } = openStore(etcd.endpoints, { connect: http2Connect(systemClock, () => credentials) });
  await expect(store.get('/reloaded', within(1_000))).rejects.toThrow('etcd does not respond');
  credentials = tls.client;
  expect((await store.get('/reloaded', within(5_000))).stored).toBeUndefined();
  client.close();
});

test('many large values are transferred over TLS', async () => {
  const { client, store } = open(tls.client);
  const value = Buffer.alloc(1_000_000, 'large');
  const keys = Array.from({ length: 8 }, (_, n) => `/large/${n}`);
  await Promise.all(keys.map((key) => store.create(key, value, {}, within(20_000))));
  const { entries } = await store.list({ prefix: '/large/' }, within(20_000));
  expect(entries.map((entry) => 'value' in entry && entry.value.equals(value))).toEqual(keys.map(() => true));
  client.close();
});

test.each<{ who: string; credentials: () => TlsCredentials | Promise<TlsCredentials> }>([
  { who: 'a client without a certificate', credentials: () => ({ ca: tls.authority }) },
  {
    who: 'a client with a certificate of somebody else',
    credentials: async () => {
      const { certificate, privateKey } = await (await testAuthority('other')).issue({ subject: [['CN', 'other']] });
      return { ...tls.client, cert: certificate, key: privateKey };
    },
  },
  {
    who: 'a member whose authority is not ours',
    credentials: async () => ({ ...tls.client, ca: (await testAuthority('other')).certificate }),
  },
])('$who is refused, and the write is known to be unsent', async ({ credentials }) => {
  const { client, store } = open(await credentials());
  await expect(store.create('/refused', Buffer.from('value'), {}, within(1_000))).rejects.toThrow(
    'etcd does not respond',
  );
  client.close();
  const allowed = open(tls.client);
  expect((await allowed.store.get('/refused', within(5_000))).stored).toBeUndefined();
  allowed.client.close();
});
