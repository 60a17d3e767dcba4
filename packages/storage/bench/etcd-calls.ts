/**
 * What a call to etcd costs: calls per second and CPU per call, for our client and for etcd3's. One member, keys of 1 KB.
 *
 *   node --conditions=source packages/storage/bench/etcd-calls.ts [seconds per figure]
 */
import { callUntil, CleanupStack, systemClock } from '@cluster-apiserver/base';
import { Etcd3 } from 'etcd3';
import { openLargeStore } from '../test/open-large-store.ts';

interface Contestant {
  readonly name: string;
  get(key: string): Promise<unknown>;
  create(key: string): Promise<unknown>;
}

const seconds = Number(process.argv[2] ?? 3);
const concurrencies = [1, 16, 128];
const value = Buffer.alloc(1024, 'x');

const cleanup = new CleanupStack();
const { endpoints, store } = await openLargeStore(cleanup);
const etcd3 = new Etcd3({ hosts: [...endpoints] });
const within = () => callUntil(systemClock.monotonicMs() + 30_000);

const contestants: readonly Contestant[] = [
  {
    name: 'this store',
    get: (key) => store.get(key, within()),
    create: (key) => store.create(key, value, {}, within()),
  },
  {
    name: 'etcd3 builders',
    get: (key) => etcd3.get(key).buffer(),
    create: (key) => etcd3.if(key, 'Mod', '==', 0).then(etcd3.put(key).value(value)).else(etcd3.get(key)).commit(),
  },
  {
    name: 'etcd3 generated client',
    get: (key) => etcd3.kv.range({ key: Buffer.from(key) }),
    create: (key) =>
      etcd3.kv.txn({
        compare: [{ key: Buffer.from(key), target: 'Mod', result: 'Equal', mod_revision: '0' }],
        success: [{ request_put: { key: Buffer.from(key), value } }],
        failure: [{ request_range: { key: Buffer.from(key) } }],
      }),
  },
];

let keys = 0;
async function measure(act: () => Promise<unknown>, concurrency: number): Promise<string> {
  const run = async (forMs: number): Promise<number> => {
    const endMs = performance.now() + forMs;
    let calls = 0;
    const worker = async (): Promise<void> => {
      for (; performance.now() < endMs; calls++) await act();
    };
    await Promise.all(Array.from({ length: concurrency }, worker));
    return calls;
  };
  await run(500);
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const calls = await run(seconds * 1000);
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  return `${Math.round((calls / tookMs) * 1000)}/s ${((user + system) / calls).toFixed(0)} µs`;
}

await store.create('/bench/read', value, {}, within());
console.log(
  `Node ${process.version}; calls per second and CPU per call at a concurrency of ${concurrencies.join(', ')}`,
);
for (const verb of ['get', 'create'] as const) {
  for (const contestant of contestants) {
    const figures: string[] = [];
    for (const concurrency of concurrencies) {
      const act = verb === 'get' ? () => contestant.get('/bench/read') : () => contestant.create(`/bench/${keys++}`);
      figures.push(await measure(act, concurrency));
    }
    console.log(`${verb.padEnd(7)} ${contestant.name.padEnd(24)} ${figures.join('   ')}`);
  }
}
etcd3.close();
await cleanup.close();
