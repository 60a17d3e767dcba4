import { afterEach, beforeEach } from '@jest/globals';
import { type Clock, requireValue, systemClock } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { type FollowedStore } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import {
  create,
  deleteObject,
  type Registry,
  update,
  type Resource,
  watch,
  type WatchOptions,
  type WatchReader,
} from '../src/index.ts';
import { openTestRegistry } from './open-test-registry.ts';
import { robotKind } from './robot-kind.ts';
import { call, everything } from './use-robots.ts';

export const robot = (name: string, labels: Record<string, string>, annotations = {}): KubeObject =>
  decode(robotKind.schema, { kind: 'Robot', apiVersion: 'v1', metadata: { name, labels, annotations } }, () => {});

export const optionsFor = (namespace: string) => ({ namespace, dryRun: false, manager: 'm', warn: () => {} });

/** A selector for the objects that have a label. */
export const labelled = (key: string) => ({ requirements: [{ key, operator: 'exists' as const, values: [] }] });

/** Watches of robots, in a registry that each test has for itself. */
export interface WatchedRobots {
  /** Every turn has time for everything, until a test moves the clock by hand. */
  readonly clock: Clock & { monotonicMs: () => number; after: Clock['after'] };
  readonly memory: ReturnType<typeof memoryStore>;
  readonly registry: Registry;
  readonly resource: Resource;
  readonly make: (name: string, labels?: Record<string, string>, namespace?: string) => Promise<number>;
  /** Creates an object of about so many bytes. */
  readonly makeLarge: (name: string, bytes: number) => Promise<unknown>;
  readonly put: (name: string, labels?: Record<string, string>, namespace?: string) => Promise<number>;
  readonly remove: (name: string, namespace?: string) => Promise<unknown>;
  readonly begin: (options?: Partial<WatchOptions>) => Promise<WatchReader>;
  /** Opens a registry on a store, after the one before has been closed. */
  readonly open: (store: FollowedStore) => void;
  /** Continues with a replica that remembers nothing of what was before it. */
  readonly switchReplica: () => Promise<void>;
  /** Resolves when all changes so far are in memory and were sent by the channels. */
  readonly settled: () => Promise<void>;
}

export function useWatchedRobots(): WatchedRobots {
  let clock: WatchedRobots['clock'];
  let memory: WatchedRobots['memory'];
  let registry: Registry;
  let resource: Resource;
  let watchings: WatchReader[];
  const open = (store: FollowedStore): void => {
    registry = openTestRegistry(robotKind, store, clock);
    resource = requireValue(registry.api.stored[0]);
  };
  beforeEach(() => {
    clock = { ...systemClock, monotonicMs: () => 0 };
    memory = memoryStore(systemClock);
    watchings = [];
    open(memory);
  });
  afterEach(async () => {
    for (const watching of watchings) watching.close();
    await registry.cache.close();
    memory.close();
  });
  return {
    get clock() {
      return clock;
    },
    get memory() {
      return memory;
    },
    get registry() {
      return registry;
    },
    get resource() {
      return resource;
    },
    open,
    make: async (name, labels = {}, namespace = 'n') =>
      requireValue((await create(resource, robot(name, labels), optionsFor(namespace), call)).revision),
    makeLarge: (name, bytes) => create(resource, robot(name, {}, { note: 'x'.repeat(bytes) }), optionsFor('n'), call),
    put: async (name, labels = {}, namespace = 'n') =>
      requireValue((await update(resource, name, robot(name, labels), optionsFor(namespace), call)).outcome.revision),
    remove: (name, namespace = 'n') => deleteObject(resource, name, { namespace, dryRun: false }, call),
    begin: async (options = {}) => {
      const watching = await watch(resource, { ...everything, allowWatchBookmarks: false, ...options }, call);
      watchings.push(watching);
      return watching;
    },
    switchReplica: async () => {
      await registry.cache.close();
      open(memory);
    },
    settled: async () => {
      await resource.collection.waitUntilFresh(undefined, call);
      await new Promise(setImmediate);
      await new Promise(setImmediate);
    },
  };
}

/** An event as one line. */
export const lineOf = (event: { type: string }): string =>
  'outcome' in event
    ? `${event.type} ${(event.outcome as { object: KubeObject }).object.metadata.name}`
    : `${event.type}${(event as { endsInitialEvents?: boolean }).endsInitialEvents ? ' end' : ''}`;

/** The next `count` events. */
export async function next(watching: WatchReader, count: number): Promise<string[]> {
  const lines: string[] = [];
  while (lines.length < count) {
    const batch = watching.take();
    if (batch) lines.push(...batch.events.map(lineOf));
    else await new Promise<void>((resolve) => watching.wait(resolve));
  }
  return lines;
}
