/** Garbage in the key of the leader election is logged and removed, and does not block the election. */
import { expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { allKeys, putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const values = {
  noise: Buffer.alloc(300, 0xe7),
  nothing: Buffer.alloc(0),
  'a-forged-log-line': Buffer.from('x\nI0101 00:00:00.000000       1 server] "forged"'),
};

/** A key without a lease is removed when it has not changed for 15 s. */
const electionMs = 60_000;
const slowTestMs = 90_000;

test(
  'garbage in the key of the leader election is removed, logged as an error, and a leader is elected',
  async () => {
    const etcd = await startEtcd();
    const [endpoint = ''] = etcd.endpoints;
    const serveWithGarbage = async ([name, value]: [string, Buffer]): Promise<{ key: string; server: TestServer }> => {
      const key = `/${name}/.own/election/leader`;
      await putRaw(endpoint, key, value);
      const flags = [`--etcd-prefix=/${name}`];
      return { key, server: await serveKinds(kinds, { etcd, flags, errorsExpected: true }) };
    };
    // Together, because each of them waits.
    for (const { key, server } of await Promise.all(Object.entries(values).map(serveWithGarbage))) {
      const lines = (message: string): readonly string[] => server.logLines.filter((line) => line.includes(message));
      await until('a leader', () => lines('acquired leadership').length > 0 || undefined, electionMs);
      const [removed, ...more] = lines('removed a leader election key');
      expect(removed).toMatch(/^E\d{4} /);
      expect(removed).toContain(`key="${key}"`);
      expect(removed?.trimEnd()).not.toContain('\n');
      expect(more).toEqual([]);
      expect(await allKeys(endpoint)).toContain(key);
      await server.close();
    }
    await etcd.stop();
  },
  slowTestMs,
);
