import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { callUntil, type Clock, loopOf, systemClock } from '@cluster-apiserver/base';
import type { Kind } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { parseLabelSelector } from '@cluster-apiserver/model/selector';
import { type View } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { robotKind } from '../../test/robot-kind.ts';
import { create, deleteCollection, list, type Registry, type Resource } from '../index.ts';
import {
  candidatesOf,
  endOfPart,
  isWithin,
  matcherOf,
  requireReadable,
  type Selected,
  type Selection,
  scopeOf,
  startOf,
} from './selection.ts';
import { selectInSlices } from './select-in-slices.ts';
import type { CachedObject, StoredObject } from '../stored-object.ts';
import { openTestRegistry } from '../../test/open-test-registry.ts';

/** Time passes with each look at it, so that every object is a slice of its own. */
let ms = 0;
let turns = 0;
const clock: Clock = {
  ...systemClock,
  monotonicMs: () => (ms += 10),
  soon: (callback) =>
    void setImmediate(() => {
      turns++;
      callback();
    }),
};
const call = callUntil(Number.POSITIVE_INFINITY);
const count = 60;
let registry: Registry;
let resource: Resource;
let view: View<CachedObject>;

beforeAll(async () => {
  registry = openTestRegistry(robotKind, memoryStore(systemClock), clock);
  resource = registry.api.stored[0] as Resource;
  for (let i = 0; i < count; i++) {
    const namespace = i % 3 === 0 ? 'a' : 'b';
    const metadata = { name: `r${i}`, labels: { even: String(i % 2 === 0), i: `${i}` } };
    const object = decode(robotKind.schema, { kind: 'Robot', apiVersion: 'v1', metadata }, () => {});
    await create(resource, object, { namespace, dryRun: false, manager: 'm', warn: () => {} }, call);
  }
  await resource.collection.waitUntilFresh(undefined, call);
  view = resource.collection.view();
});
afterAll(() => registry.cache.close());

const everything: Selection = { namespace: undefined, labels: undefined, fields: undefined };
const labels = (selector: string): Selection['labels'] => parseLabelSelector(selector);
const selections: readonly Selection[] = [
  { namespace: undefined, labels: undefined, fields: undefined },
  { namespace: 'a', labels: undefined, fields: undefined },
  { namespace: undefined, labels: labels('even=true'), fields: undefined },
  { namespace: 'b', labels: labels('even=true,i!=4'), fields: undefined },
  { namespace: 'b', labels: labels('!even'), fields: undefined },
  { namespace: 'nowhere', labels: labels('even'), fields: undefined },
  { namespace: 'a', name: 'r3', labels: undefined, fields: undefined },
];

describe.each(selections)('of %j', (selection) => {
  test.each([undefined, 1, 2, 7, count, count + 1])('the same is selected as at once, up to %s', async (limit) => {
    const whole = select(view, resource.kind, selection, undefined);
    for (const after of [undefined, ...whole.objects.slice(0, 5).map(({ key }) => key)])
      expect(await selectInSlices(resource, view, selection, after, limit)).toEqual(
        select(view, resource.kind, selection, after, limit),
      );
  });
});

test('a selector looks at a few objects in each turn, and others have theirs in between', async () => {
  turns = 0;
  await selectInSlices(
    resource,
    view,
    { namespace: undefined, labels: labels('even!=x'), fields: undefined },
    undefined,
  );
  expect(turns).toBeGreaterThan(count / 4);
});

test('a short list without a selector does not wait for a turn', async () => {
  await loopOf(clock).schedule(() => {}); // work of other tests is over
  for (let before = -1; before < turns; await new Promise((resolve) => setImmediate(resolve))) before = turns;
  turns = 0;
  const options = { namespace: 'a', labels: undefined, fields: undefined, limit: undefined, continue: undefined };
  const all = { ...options, resourceVersion: '0', resourceVersionMatch: undefined, sendInitialEvents: undefined };
  expect((await list(resource, all, call)).items.length).toBe(count / 3);
  expect(turns).toBe(0);
});

test('lists that become ready in one moment are spread over turns', async () => {
  turns = 0;
  const turnsOfEach = Array.from({ length: 10 }, (_, at) =>
    selectInSlices(resource, view, { ...everything, namespace: at % 2 === 0 ? 'a' : 'b' }, undefined).then(() => turns),
  );
  expect(new Set(await Promise.all(turnsOfEach)).size).toBe(10);
});

describe('long lists of the same objects', () => {
  const longCount = 1_500;
  let long: View<CachedObject>;
  const longList = (selection: Partial<Selection> = {}, limit?: number): ReturnType<typeof selectInSlices> =>
    selectInSlices(resource, long, { ...everything, ...selection }, undefined, limit);

  beforeAll(() => {
    const [first] = select(view, resource.kind, everything, undefined).objects;
    let { items } = view;
    for (let at = 0; at < longCount; at++) {
      const key = `c/${at}`;
      items = items.with(Object.create(first as object, { key: { value: key } }) as CachedObject);
    }
    long = { ...view, items, terms: view.terms };
  });

  test('share a selection, also while it is being made', async () => {
    const [one, other] = await Promise.all([longList(), longList()]);
    expect(one.objects.length).toBe(count + longCount);
    expect(other.objects).toBe(one.objects);
    expect((await longList()).objects).toBe(one.objects);
  });

  test.each([{ namespace: 'c' }, { labels: labels('even=true,i!=4') }])(
    'but not with those of %j',
    async (selection) => {
      expect((await longList(selection)).objects).not.toBe((await longList()).objects);
      expect(await longList(selection)).toEqual(
        select(long, resource.kind, { ...everything, ...selection }, undefined),
      );
    },
  );

  test('but not with pages of them', async () => {
    const page = await longList({}, longCount);
    expect(page).toEqual(select(long, resource.kind, everything, undefined, longCount));
    expect(page.more).toBe(true);
  });
});

test('a dry run over a collection lets others have their turn', async () => {
  turns = 0;
  const options = { namespace: 'a', labels: undefined, fields: undefined, limit: undefined, continue: undefined };
  const all = { ...options, resourceVersion: undefined, resourceVersionMatch: undefined, sendInitialEvents: undefined };
  const deletion = {
    ...{ dryRun: true, ignoreReadErrors: false, preconditions: undefined },
    ...{ gracePeriodSeconds: undefined, orphanDependents: undefined, propagationPolicy: undefined },
  };
  await deleteCollection(resource, { list: all, delete: deletion, workers: 1 }, call);
  expect(turns).toBeGreaterThanOrEqual(count / 3);
  expect((await list(resource, all, call)).items.length).toBe(count / 3);
});

/** The reference: the same selection in one step. */
function select(
  view: View<CachedObject>,
  kind: Kind,
  selection: Selection,
  after: string | undefined,
  limit = Number.POSITIVE_INFINITY,
): Selected {
  const scope = scopeOf(kind, selection);
  const matches = matcherOf(selection);
  const objects: StoredObject[] = [];
  candidatesOf(view, kind, selection).visit(startOf(scope, after), (item) => {
    if (!isWithin(scope, item.key)) return false;
    if (item.unreadable || (matches && !matches(item))) return true;
    return objects.push(item) < limit;
  });
  let follows = false;
  view.items.visit(startOf(scope, objects.at(-1)?.key), ({ key }) => {
    follows = isWithin(scope, key);
    return false;
  });
  const selected = { objects, more: objects.length === limit && scope.key === undefined && follows };
  requireReadable(view, scope, { after, upTo: endOfPart(selected) });
  return selected;
}
