import { expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import type { EtcdClient } from './client.ts';
import type { SharedLeases } from './leases.ts';
import type { ConditionalWrite } from './wire/key-value.ts';
import { createConditionalWriter } from './write-once.ts';

/** The key of the receipts of one replica. */
async function receiptKeyOf(seed: number): Promise<string | undefined> {
  const keys = new Set<string | undefined>();
  const client = {
    random: seededRandom(seed),
    history: { revision: 1 },
    call: async (_: unknown, { receipt }: ConditionalWrite) => {
      keys.add(receipt?.key);
      return { applied: true, header: { revision: 2 } };
    },
  } as unknown as EtcdClient;
  const write = createConditionalWriter(client, {} as SharedLeases, '/own/');
  for (const key of ['/a', '/b'])
    await write({ key, expected: 1, value: undefined }, callUntil(Number.POSITIVE_INFINITY), 0);
  expect(keys.size).toBe(1);
  return [...keys][0];
}

test('the receipts of many replicas are spread over a bounded number of keys', async () => {
  const keys = await Promise.all(Array.from({ length: 500 }, (_, seed) => receiptKeyOf(seed)));
  expect(keys.every((key) => key?.startsWith('/own/receipts/'))).toBe(true);
  expect(new Set(keys).size).toBeGreaterThan(50);
  expect(new Set(keys).size).toBeLessThanOrEqual(64);
});
