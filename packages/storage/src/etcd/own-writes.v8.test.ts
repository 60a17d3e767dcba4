import { expect, test } from '@jest/globals';
import { promotedBytes } from '@cluster-apiserver/testkit/garbage';
import type { EtcdClient } from './client.ts';
import { History } from './history.ts';
import { OwnWrites } from './own-writes.ts';

test('objects of delivered writes are not promoted by V8', () => {
  const sourceNumbers = 1_000;
  const writesPerStep = 100;
  const steps = 20;
  // Without a proof, own writes use nothing else of the client.
  const client = { history: new History() } as unknown as EtcdClient;
  const own = new OwnWrites(client, { request: () => {}, restartWatches: () => {} });
  const value = Buffer.from('value');
  let last = '/';
  const write = (step: number): void => {
    for (let i = 0; i < writesPerStep; i++) {
      const key = `/${step}/${i}`;
      const numbers = Array.from({ length: sourceNumbers }, (_, at) => at + 0.5);
      const content = { value, source: { numbers } };
      own.end(own.begin({ key, after: 1, isNext: false, stored: [value], content }, 0), true);
      own.note(last, 2, value);
      last = key;
    }
  };
  expect(promotedBytes(steps, write)).toBeLessThan((steps * writesPerStep * sourceNumbers * 8) / 20);
});
