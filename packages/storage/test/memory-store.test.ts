import { systemClock } from '@cluster-apiserver/base';
import { describeStoreContract } from './contract/store-contract.ts';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';

describeStoreContract('the store in memory', async () => {
  const store = memoryStore(systemClock);
  return {
    store,
    prefix: '/contract/',
    compact: async (oldest) => store.compact(oldest),
    close: async () => store.close(),
  };
});
