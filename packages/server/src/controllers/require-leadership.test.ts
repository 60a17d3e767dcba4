import { expect, test } from '@jest/globals';
import { callUntil, systemClock } from '@cluster-apiserver/base';
import { type Revision, type Store } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { requireLeadership } from './require-leadership.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const value = Buffer.from('x');

test.each<{ what: string; write: (store: Store, at: Revision) => Promise<unknown> }>([
  { what: 'creates', write: (store) => store.create('/new', value, {}, call) },
  { what: 'updates', write: (store, at) => store.update('/old', value, at, {}, call) },
  { what: 'deletes', write: (store, at) => store.delete('/old', at, call) },
])('a replica that lost leadership $what nothing, but can read', async ({ write }) => {
  const memory = memoryStore(systemClock);
  let leads = true;
  const store = requireLeadership(memory, () => leads);
  const at = await store.create('/old', value, {}, call);
  leads = false;
  const before = await memory.readLatestRevision(call);
  await expect(write(store, at)).rejects.toThrow('leadership was lost');
  expect(await memory.readLatestRevision(call)).toBe(before);
  expect((await store.get('/old', call)).stored?.revision).toBe(at);
  leads = true;
  await write(store, at);
  memory.close();
});
