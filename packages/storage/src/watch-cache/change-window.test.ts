import { expect, test } from '@jest/globals';
import { array, assert, asyncProperty, constantFrom, nat, option, record } from 'fast-check';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { countReachable } from '@cluster-apiserver/testkit/garbage';
import { call, collectionsOf, contents, useWatchCache } from '../../test/use-watch-cache.ts';
import { type Revision, revision } from '../revision.ts';
import { ChangeWindow } from './change-window.ts';

const cached = useWatchCache();

test('every past state in the window can be read, and found by its index terms', async () => {
  const [a] = collectionsOf(cached.open());
  const terms = Array.from({ length: 7 }, (_, n) => `t${n}`);
  const change = record({
    key: nat(19).map(String),
    // Undefined removes the key, if it is there.
    text: option(constantFrom(...terms), { freq: 3, nil: undefined }),
  });
  await assert(
    asyncProperty(array(change, { maxLength: 300, size: 'max' }), async (changes) => {
      const states = new Map<Revision, string[]>();
      const model = new Map<string, string>();
      for (const { key, text } of changes) {
        if (text === undefined && !model.has(key)) continue;
        const at = text === undefined ? await cached.remove(`/r/a/${key}`) : await cached.put(`/r/a/${key}`, text);
        if (text === undefined) model.delete(key);
        else model.set(key, text);
        states.set(at, [...model].map(([name, value]) => `${name}=${value}`).sort());
      }
      await a.waitUntilFresh(undefined, call);
      for (const [at, state] of states) {
        expect((await contents(a, at))?.sort()).toEqual(state);
        for (const term of terms) {
          const found: string[] = [];
          const { items } = (await a.viewAt(at))?.terms.get(term) ?? {};
          items?.visit('', ({ key, text }) => found.push(`${key}=${text}`) > 0);
          expect(found.sort()).toEqual(state.filter((item) => item.endsWith(`=${term}`)));
        }
      }
      for (const key of model.keys()) await cached.remove(`/r/a/${key}`);
    }),
    { numRuns: 6, seed: 5 },
  );
});

test('a past state that is read again is not made again', async () => {
  const [a] = collectionsOf(cached.open());
  const at = await cached.put('/r/a/1');
  await cached.put('/r/a/1');
  await a.waitUntilFresh(undefined, call);
  const first = await a.viewAt(at);
  expect(first?.revision).toBe(at);
  expect(await a.viewAt(at)).toBe(first);
});

test('changes too old for the window are reported as missing', async () => {
  const [a] = collectionsOf(cached.open());
  await a.waitUntilFresh(undefined, call);
  const begin = a.currentRevision;
  // Each change has the weight of the previous version, so the first ones are dropped.
  for (let n = 0; n < 20_000; n++) await cached.put('/r/a/1', `${n}`);
  await a.waitUntilFresh(undefined, call);
  expect(a.changesAfter(begin)).toBeUndefined();
  expect(await a.viewAt(begin)).toBeUndefined();
  const kept = revision(a.currentRevision - 100);
  expect(a.changesAfter(kept)?.map(({ revision: at }) => at)).toEqual(
    Array.from({ length: 100 }, (_, n) => kept + n + 1),
  );
});

test('changes are kept for 75 seconds, and longer while they are small', async () => {
  const clock = fakeClock();
  const cache = cached.open({ clock });
  const [a, b] = collectionsOf(cache);
  await cache.firstLoad;
  const begin = a.currentRevision;
  await cached.put('/r/b/1');
  // Twice of what is kept however old it is.
  for (let n = 0; n < 4_200; n++) await cached.put('/r/a/1', `${n}`);
  await a.waitUntilFresh(undefined, call);
  clock.advance(70_000);
  expect(a.changesAfter(begin)).toHaveLength(4_200);
  await cached.put('/r/a/2');
  await a.waitUntilFresh(undefined, call);
  clock.advance(15_000);
  expect(a.changesAfter(begin)).toBeUndefined();
  expect(a.changesAfter(revision(a.currentRevision - 1_000))).toHaveLength(1_000);
  expect(b.changesAfter(begin)).toHaveLength(1);
});

test('a retained view does not change', async () => {
  const [a] = collectionsOf(cached.open());
  await cached.put('/r/a/1');
  await a.waitUntilFresh(undefined, call);
  const view = a.view();
  a.retainView(view, a.viewEpoch);
  await cached.put('/r/a/2');
  await a.waitUntilFresh(undefined, call);
  expect(await a.viewAt(view.revision)).toBe(view);
  expect(await contents(a, view.revision)).toEqual(['1=/r/a/1']);
});

test('a new replica has the changes just before its start', async () => {
  const first = await cached.put('/r/a/1', 'one');
  for (let n = 0; n < 6_000; n++) await cached.put('/r/a/1', `${n}`);
  const [a] = collectionsOf(cached.open());
  await a.waitUntilFresh(undefined, call);
  expect(a.changesAfter(first)).toBeUndefined();
  expect(a.changesAfter(revision(a.currentRevision - 4_000))).toHaveLength(4_000);
});

test('the window keeps no object of a change that it has dropped', async () => {
  const window = new ChangeWindow<Buffer>({ weightMax: 10_000, weightOf: ({ previous }) => previous?.length ?? 0 });
  const objects: WeakRef<Buffer>[] = [];
  const addOne = (at: number): void => {
    const previous = Buffer.alloc(1_000);
    objects.push(new WeakRef(previous));
    window.add({ key: 'a', revision: revision(at), previous, current: undefined });
  };
  for (let at = 1; at <= 100; at++) addOne(at);
  expect(window.weight).toBeGreaterThan(8_000);
  // Those of the window, and perhaps one that V8 has worked on last.
  expect(await countReachable(objects)).toBeLessThanOrEqual(window.count + 1);
});
