import { systemClock } from '@cluster-apiserver/base';
import { describeStoreContract } from '../../test/contract/store-contract.ts';
import { memoryStore } from './memory-store.ts';

describeStoreContract('the store in memory', async () => {
  const store = memoryStore(systemClock);
  return {
    store,
    prefix: '/contract/',
    compact: async (oldest) => store.compact(oldest),
    close: async () => store.close(),
  };
});
