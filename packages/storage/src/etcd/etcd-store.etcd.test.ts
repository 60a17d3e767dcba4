import { afterAll, beforeAll } from '@jest/globals';
import { openStore, within } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '../../test/real-etcd.ts';
import { describeStoreContract } from '../contract/store-contract.ts';
import { compact } from './wire/key-value.ts';

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

let opened = 0;
describeStoreContract('the store on etcd', async () => {
  const { client, store } = openStore(etcd.endpoints);
  return {
    store,
    prefix: `/contract/${opened++}/`,
    compact: async (oldest) => {
      await client.call(compact, oldest, within(5_000));
    },
    close: async () => client.close(),
  };
});
