import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { StatusError } from '@cluster-apiserver/model';
import { StorageUnavailableError } from '@cluster-apiserver/storage';
import {
  create,
  deleteCollection,
  list,
  type ListOptions,
  type Outcome,
  type Resource,
  type WatchReader,
  type WatchEvent,
  watch,
} from '../index.ts';
import { call, everything, failing, robot, useRobots } from '../../test/use-robots.ts';

const unconditional = { ...everything, allowWatchBookmarks: false };

/** The next `count` events of a watch. */
async function eventsOf(watching: WatchReader, count: number): Promise<WatchEvent[]> {
  const events: WatchEvent[] = [];
  while (events.length < count) {
    const batch = watching.take();
    if (batch) events.push(...batch.events);
    else await new Promise<void>((resolve) => watching.wait(resolve));
  }
  return events;
}

const robots = useRobots();
const { options, make, put, remove, switchReplica } = robots;

describe('a list in chunks', () => {
  const chunk = (more: Partial<ListOptions>) => list(robots.resource, { ...everything, ...more }, call);
  const namesOf = ({ items }: { items: readonly Outcome[] }) => items.map(({ object: { metadata } }) => metadata.name);

  test('shows one snapshot, whatever is written between the chunks', async () => {
    for (const name of ['a', 'c', 'e']) await make({ name });
    const first = await chunk({ limit: 1 });
    expect(first).toMatchObject({ remainingItemCount: 2 });
    await make({ name: 'b' });
    await remove('c');
    const rest = await chunk({ limit: 9, continue: first.continue });
    expect([...namesOf(first), ...namesOf(rest)]).toEqual(['a', 'c', 'e']);
    expect(rest).toMatchObject({ revision: first.revision });
    expect(rest.continue).toBeUndefined();
  });

  test('is filled with selected objects, however far apart', async () => {
    for (let i = 0; i < 1200; i++)
      await make({ name: `r${String(i).padStart(4, '0')}`, ...(i % 599 === 0 && { labels: { x: 'y' } }) });
    const labels = { requirements: [{ key: 'x', operator: 'exists' as const, values: [] }] };
    const first = await chunk({ limit: 2, labels });
    expect(namesOf(first)).toEqual(['r0000', 'r0599']);
    expect(first.remainingItemCount).toBeUndefined();
    const rest = await chunk({ limit: 2, labels, continue: first.continue });
    expect(namesOf(rest)).toEqual(['r1198']);
  });

  describe('of a past state that memory no longer holds', () => {
    let pageLimits: (number | undefined)[];
    let listFromStore: Resource['collection']['listFromStore'];
    beforeEach(() => {
      pageLimits = [];
      const { collection } = robots.resource;
      listFromStore = collection.listFromStore.bind(collection);
      jest.spyOn(collection, 'viewAt').mockResolvedValue(undefined);
      jest.spyOn(collection, 'listFromStore').mockImplementation((range, ...rest) => {
        pageLimits.push(range.limit);
        return listFromStore(range, ...rest);
      });
    });
    const past = (more: Partial<ListOptions>, { revision }: { revision?: number | undefined }) =>
      chunk({ resourceVersion: String(revision), resourceVersionMatch: 'Exact', ...more });

    test('reads larger and larger pages while the selector finds nothing', async () => {
      for (let i = 0; i < 1_600; i++) await make({ name: `r${String(i).padStart(4, '0')}` });
      const last = await make({ name: 'z', labels: { x: 'y' } });
      const labels = { requirements: [{ key: 'x', operator: 'exists' as const, values: [] }] };
      expect(namesOf(await past({ limit: 2, labels }, last))).toEqual(['z']);
      expect(pageLimits).toEqual([500, 1_000, 2_000]);
    });

    test('fails only for an unreadable object that it may contain', async () => {
      for (const name of ['a', 'b']) await make({ name });
      await robots.memory.create(`${robots.resource.collection.descriptor.prefix}n/y`, Buffer.from('[1]'), {}, call);
      const last = await make({ name: 'z' });
      const fields = { terms: [{ field: 'metadata.name', equal: false, value: 'a' }] };
      expect(namesOf(await past({ limit: 1, fields }, last))).toEqual(['b']);
      const named = { terms: [{ field: 'metadata.name', equal: true, value: 'z' }] };
      expect(namesOf(await past({ fields: named }, last))).toEqual(['z']);
      expect(await failing(past({ limit: 2, fields }, last))).toMatchObject({ reason: 'StorageReadError' });
      expect(await failing(past({}, last))).toMatchObject({ reason: 'StorageReadError' });
    });
  });

  test('cannot be led out of its range by a token', async () => {
    await create(robots.resource, robot({ name: 'secret' }), { ...options, namespace: 'm' }, call);
    await make({ name: 'a' });
    const tokenOf = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    for (const start of ['../m/', '/../m/secret', '\0', 'a', 'zzz', '..', '', 7, null, {}]) {
      for (const rv of [-1, 1, 0, 1e300, '1', undefined]) {
        const answer = await chunk({ continue: tokenOf({ v: 'meta.k8s.io/v1', rv, start }) }).catch(
          (error: StatusError) => error,
        );
        if (answer instanceof Error) expect([400, 410, 504]).toContain(answer.code);
        else expect(namesOf(answer)).not.toContain('secret');
      }
    }
    for (const token of ['not-a-token', '%%%', tokenOf(null), tokenOf([]), tokenOf({ v: 'v0', rv: 1, start: 'a' })]) {
      expect((await failing(chunk({ continue: token }))).reason).toBe('BadRequest');
    }
  });

  test('of a compacted snapshot is Expired, with a token for the rest at the latest revision', async () => {
    for (const name of ['a', 'b', 'd']) await make({ name });
    const first = await chunk({ limit: 1 });
    const { revision } = await make({ name: 'c' });
    robots.memory.compact(revision as NonNullable<typeof revision>);
    await switchReplica();
    const error = await failing(chunk({ limit: 1, continue: first.continue }));
    expect(error).toMatchObject({ reason: 'Expired', code: 410 });
    const { metadata, message, details } = error.toStatus();
    expect(message).toMatch(
      /^The provided continue parameter is too old to display a consistent list result\. You can start/,
    );
    expect(details).toMatchObject({ causes: [{ reason: 'ResourceExpired' }] });
    expect(namesOf(await chunk({ continue: metadata.continue }))).toEqual(['b', 'c', 'd']);
  });

  test('ends all workers when one of them fails, before the failure is answered', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `r-${at}`);
    for (const name of names) await make({ name });
    let deletions = 0;
    const failing: Resource = {
      ...robots.resource,
      store: {
        ...robots.resource.store,
        delete: async (...args) => {
          const nth = ++deletions;
          await new Promise((resolve) => setImmediate(resolve));
          if (nth === 2) throw new StorageUnavailableError('no leader');
          return robots.resource.store.delete(...args);
        },
      },
    };
    const deletion = { list: everything, delete: { dryRun: false }, workers: 4 };
    await expect(deleteCollection(failing, deletion, call)).rejects.toMatchObject({ reason: 'Timeout' });
    const afterAnswer = deletions;
    expect(afterAnswer).toBeLessThan(10);
    for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
    expect(deletions).toBe(afterAnswer);
  });

  test('limits a deletion of the collection', async () => {
    for (const name of ['a', 'b', 'c']) await make({ name });
    await deleteCollection(
      robots.resource,
      { list: { ...everything, limit: 2 }, delete: { dryRun: false }, workers: 2 },
      call,
    );
    expect(namesOf(await chunk({}))).toEqual(['c']);
  });
});

describe('list and watch', () => {
  test('a namespace that begins like another is another', async () => {
    await make({ name: 'a' });
    await create(robots.resource, robot({ name: 'b' }), { ...options, namespace: 'n-x' }, call);
    expect((await list(robots.resource, everything, call)).items).toHaveLength(1);
    expect(
      (await list(robots.resource, { ...everything, namespace: undefined }, call)).items.map(
        (item) => item.object.metadata.name,
      ),
    ).toEqual(['b', 'a']);
  });

  test('an exact version shows the past, a future one is not there yet', async () => {
    const made = await make({ name: 'a' });
    await make({ name: 'b' });
    const then = await list(
      robots.resource,
      { ...everything, resourceVersion: String(made.revision), resourceVersionMatch: 'Exact' },
      call,
    );
    expect(then).toMatchObject({ revision: made.revision });
    expect(then.items).toHaveLength(1);
    const error = await failing(list(robots.resource, { ...everything, resourceVersion: '99999' }, call));
    expect(error).toMatchObject({ reason: 'Timeout', details: { causes: [{ reason: 'ResourceVersionTooLarge' }] } });
    expect(error.message).toMatch(/^Too large resource version: 99999, current: \d+$/);
    const beyond = await failing(
      list(robots.resource, { ...everything, resourceVersion: '18446744073709551615' }, call),
    );
    expect(beyond.message).toMatch(/^Too large resource version: more than 9007199254740991, current: \d+$/);
  });

  test('a watch with a selector gets objects that begin to match as ADDED and those that cease to as DELETED', async () => {
    const start = await list(robots.resource, everything, call);
    const inView = { requirements: [{ key: 'v', operator: 'in', values: ['1'] }] } as const;
    const watching = await watch(
      robots.resource,
      { ...unconditional, labels: inView, resourceVersion: String(start.revision) },
      call,
    );
    await make({ name: 'a' });
    await put('a', { labels: { v: '1' } });
    await put('a', { labels: { v: '1', more: '' } });
    await put('a', { labels: { v: '2' } });
    await make({ name: 'b', labels: { v: '1' } });
    await remove('b');
    const seen = (await eventsOf(watching, 5)).map((event) =>
      event.type === 'BOOKMARK'
        ? event.type
        : `${event.type} ${event.outcome.object.metadata.name} ${JSON.stringify(event.outcome.object.metadata.labels)}`,
    );
    expect(seen).toEqual([
      'ADDED a {"v":"1"}',
      'MODIFIED a {"more":"","v":"1"}',
      'DELETED a {"more":"","v":"1"}',
      'ADDED b {"v":"1"}',
      'DELETED b {"v":"1"}',
    ]);
  });
});
