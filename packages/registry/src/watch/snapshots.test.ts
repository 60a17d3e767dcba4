import { expect, test } from '@jest/globals';
import { Snapshots } from './snapshots.ts';

type View = Parameters<Snapshots['acquire']>[0];
type Change = Parameters<Snapshots['changed']>[0];

const megabyte = 1024 * 1024;
const view = (): View => ({ items: {} }) as unknown as View; // only its identity matters
const replaced = (bytes: number): Change => ({ previous: { weight: bytes } }) as unknown as Change; // nothing else is read

test('the oldest states are released when they keep too many replaced objects', () => {
  const snapshots = new Snapshots();
  const first = snapshots.acquire(view());
  snapshots.changed(replaced(20 * megabyte));
  const second = snapshots.acquire(view());
  snapshots.changed(replaced(12 * megabyte));
  expect([first.view, second.view]).toEqual([expect.anything(), expect.anything()]);
  snapshots.changed(replaced(1));
  expect([first.view, second.view]).toEqual([undefined, expect.anything()]);
  snapshots.changed(replaced(20 * megabyte));
  expect(second.view).toBeUndefined();
});
