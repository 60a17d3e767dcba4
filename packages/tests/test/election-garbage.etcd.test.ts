/** Garbage in the key of the leader election is logged and removed, and does not block the election. */
import { expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { allKeys, putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import { serveKinds } from './serve-kinds.ts';

const key = '/registry/.own/election/leader';

test.each([
  ['noise', Buffer.alloc(300, 0xe7)],
  ['nothing', Buffer.alloc(0)],
  ['a forged log line', Buffer.from('x\nI0101 00:00:00.000000       1 server] "forged"')],
])('%s in the key of the leader election is removed, logged as an error, and a leader is elected', async (_, value) => {
  const etcd = await startEtcd();
  await putRaw(etcd.endpoints[0] as string, key, value);
  const server = await serveKinds(kinds, { etcd, errorsExpected: true });
  const lines = (message: string): readonly string[] => server.logLines.filter((line) => line.includes(message));
  await until('a leader', () => lines('acquired leadership').length > 0 || undefined, 20_000);
  const [removed, ...more] = lines('removed a leader election key');
  expect(removed).toMatch(/^E\d{4} /);
  expect(removed).toContain(`key="${key}"`);
  expect(removed?.trimEnd()).not.toContain('\n');
  expect(more).toEqual([]);
  expect(await allKeys(etcd.endpoints[0] as string)).toContain(key);
  await server.close();
  await etcd.stop();
});
