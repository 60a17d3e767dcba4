import { afterAll, beforeAll } from '@jest/globals';
import { openForContract } from '../../test/open-store.ts';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { describeStoreContract } from '../../test/contract/store-contract.ts';

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

describeStoreContract('the store on etcd', async () => openForContract(etcd.endpoints));
