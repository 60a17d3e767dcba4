import { expect, test } from '@jest/globals';
import { existsSync } from 'node:fs';
import { systemClock } from '@cluster-apiserver/base';
import { http2Connect } from '../src/etcd/http2-transport.ts';
import { conditionalWrite } from '../src/etcd/wire/key-value.ts';
import { canary, leaksIn } from '@cluster-apiserver/testkit/leaks';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';

const forms: readonly (readonly [string, string, string])[] = [
  ['in clear', `{"a":"${canary}"}`, 'in clear'],
  ['in hex', Buffer.from(`{"a":"${canary}"}`).toString('hex'), 'in hex'],
  ['in large hex', Buffer.from(canary).toString('hex').toUpperCase(), 'in hex'],
  ...['', 'x', 'xy', 'xyz'].map(
    (before) =>
      [
        `in base64 behind ${before.length} bytes`,
        Buffer.from(`${before}${canary}.`).toString('base64'),
        'in base64',
      ] as const,
  ),
];

test.each(forms)('the canary is found %s', (_, text, how) => {
  expect(leaksIn(Buffer.concat([Buffer.from([0xff, 0]), Buffer.from(text)]))).toEqual([how]);
});

test('what is something else is no leak', () => {
  for (const text of ['', canary.slice(1), canary.toUpperCase(), Buffer.from(canary.slice(2)).toString('base64')])
    expect(leaksIn(Buffer.from(text))).toEqual([]);
});

async function put(etcd: RealEtcd, value: string): Promise<void> {
  const transport = http2Connect(systemClock)(etcd.endpoints[0] as string); // an etcd has a member
  const write = { key: '/leaks', value: [Buffer.from(value)], expected: 0, lease: 0 };
  await transport.unary(conditionalWrite.path, conditionalWrite.encode(write), {
    timeoutMs: 5_000,
    requireLeader: true,
  });
  transport.close();
}

test.each(forms)(
  'an etcd that was to hold nothing in clear does not stop in silence with a canary %s',
  async (_, text, how) => {
    const etcd = await startEtcd({ encrypted: true });
    await put(etcd, text);
    await expect(etcd.stop()).rejects.toThrow(`holds ${canary} ${how}`);
    expect(existsSync(etcd.directory)).toBe(false);
  },
);

test('an etcd that holds no canary stops, and so does one that is not searched for it', async () => {
  const etcd = await startEtcd({ encrypted: true });
  const other = await startEtcd();
  await put(etcd, 'k8s:enc:aesgcm:v1:a:xyz');
  await put(other, canary);
  await etcd.stop();
  await other.stop();
});
