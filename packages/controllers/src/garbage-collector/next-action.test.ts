import { callUntil } from '@cluster-apiserver/base';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { getCached, type Resource, type StoredObject } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { blocking, createWorld, owned, type World } from '../../test/world.ts';
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
  graph = new Graph(referenceResolver(world.api));
  actions = nextActionReader(graph, world.api);
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

test('an owner that something waits for is decided by one dependent that waits for nothing', async () => {
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
  expect(looks()).toBe(0);
});

test('an owner that something waits for does not scan its dependents when one of them is removed', async () => {
  const above = await world.account('above');
  const owner = await world.account('owner', { owners: [blocking(above)] });
  const [idle, waiting]: [KubeObject[], KubeObject[]] = [[], []];
  for (let at = 0; at < 100; at++) {
    idle.push(await world.event(`idle-${at}`, { owners: [owned(owner)] }));
    waiting.push(await world.account(`waiting-${at}`, { owners: [blocking(owner)] }));
  }
  for (const one of [above, owner, ...waiting]) await world.remove(one, 'Foreground');
  await put(above);
  const node = await put(owner);
  for (const dependent of [...idle, ...waiting]) await put(dependent);
  const looks = countLooks(node);
  for (const { metadata } of waiting) {
    expect(actions.nextAction(node)).toBeUndefined();
    graph.put(world.accounts, `n/${metadata.name}`, undefined);
  }
  expect(actions.nextAction(node)).toBe('release finalizer');
  expect(looks()).toBe(0);
});

test('a cycle is released as a whole, once nothing else blocks its members', async () => {
  const [one, other, third] = [await world.account('one'), await world.account('other'), await world.account('third')];
  const outside = await world.account('outside', { owners: [blocking(other)] });
  await world.change(one, (metadata) => ({ ...metadata, ownerReferences: [blocking(other), blocking(third)] }));
  await world.change(other, (metadata) => ({ ...metadata, ownerReferences: [blocking(one)] }));
  await world.change(third, (metadata) => ({ ...metadata, ownerReferences: [blocking(one)] }));
  for (const member of [one, other, third]) await world.remove(member, 'Foreground');
  const nodes: GraphNode[] = [];
  for (const member of [one, other, third]) nodes.push(await put(member));
  const next = (): unknown[] => nodes.map((node) => actions.nextAction(node));
  expect(next()).toEqual(Array(3).fill('release finalizer'));
  await put(outside);
  expect(next()).toEqual([undefined, undefined, undefined]);
  await world.remove(outside, 'Foreground');
  await put(outside);
  expect(next()).toEqual([undefined, undefined, undefined]);
  graph.put(world.accounts, 'n/outside', undefined);
  expect(next()).toEqual(Array(3).fill('release finalizer'));
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
