import { callUntil } from '@cluster-apiserver/base';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model';
import { getCached, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/storage';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { blocking, createWorld, type World } from '../../test/world.ts';
import { Graph, type GraphNode } from './graph.ts';
import { type NextActionReader, nextActionReader } from './next-action.ts';
import { referenceResolver } from './owner-references.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
let memory: ReturnType<typeof memoryStore>;
let world: World;
let graph: Graph;
let actions: NextActionReader;

beforeEach(() => {
  memory = memoryStore(fakeClock());
  world = createWorld({ store: memory, clock: fakeClock(), call: () => call });
  graph = new Graph(world.resources, referenceResolver(world.resources));
  actions = nextActionReader(graph, world.resources);
});
afterEach(async () => {
  await world.close();
  memory.close();
});

/** Takes an object over into the graph as it is now. */
async function put({ kind, metadata: { name = '' } }: KubeObject): Promise<GraphNode> {
  const resource: Resource = kind === 'Event' ? world.events : world.accounts;
  await resource.collection.waitUntilFresh(undefined, call);
  const object = getCached(resource, 'n', name) as StoredObject;
  const { node } = graph.put(resource, object.key, object);
  return node as GraphNode; // the objects of these tests need one
}

/** How often the dependents of an owner are read. */
function countLooks(owner: GraphNode): () => number {
  const dependents = graph.ownerOf(owner)?.dependents as Set<GraphNode>;
  let looks = 0;
  Object.defineProperty(dependents, Symbol.iterator, {
    *value(): Generator<GraphNode> {
      for (const dependent of dependents.values()) {
        looks++;
        yield dependent;
      }
    },
  });
  return () => looks;
}

test('a foreground deletion does not scan all dependents when one of them is removed', async () => {
  const owner = await world.account('owner');
  const dependents: KubeObject[] = [];
  for (let at = 0; at < 500; at++) dependents.push(await world.event(`event-${at}`, { owners: [blocking(owner)] }));
  await world.remove(owner, 'Foreground');
  const node = await put(owner);
  for (const dependent of dependents) await put(dependent);
  const looks = countLooks(node);
  for (const { metadata } of dependents) {
    expect(actions.nextAction(node)).toBeUndefined();
    graph.put(world.events, `n/${metadata.name}`, undefined);
  }
  expect(actions.nextAction(node)).toBe('release finalizer');
  expect(looks()).toBe(0);
});

test('an owner that something waits for is looked at for circles up to a bound', async () => {
  const above = await world.account('above');
  const owner = await world.account('owner', { owners: [blocking(above)] });
  const dependents: KubeObject[] = [];
  for (let at = 0; at < 100; at++)
    dependents.push(await world.account(`dependent-${at}`, { owners: [blocking(owner)] }));
  await world.remove(above, 'Foreground');
  await world.remove(owner, 'Foreground');
  await put(above);
  const node = await put(owner);
  for (const dependent of dependents) await put(dependent);
  const looks = countLooks(node);
  expect(actions.nextAction(node)).toBeUndefined();
  // The first dependent that waits for no other one decides.
  expect(looks()).toBe(1);
});

test('the graph drops owners without references', async () => {
  const [one, other] = [await world.account('one'), await world.account('other')];
  const dependent = await world.event('dependent', { owners: [blocking(one)] });
  await put(dependent);
  expect([...graph.owners()].map(({ itemKey }) => itemKey)).toEqual(['n/one']);
  await world.change(dependent, (metadata) => ({ ...metadata, ownerReferences: [blocking(other)] }));
  await put(dependent);
  expect([...graph.owners()].map(({ itemKey, blockerCount }) => ({ itemKey, blockerCount }))).toEqual([
    { itemKey: 'n/other', blockerCount: 1 },
  ]);
  graph.put(world.events, 'n/dependent', undefined);
  expect([...graph.owners()]).toEqual([]);
  expect(graph.size).toBe(0);
});
