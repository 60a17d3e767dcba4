import { afterEach, beforeEach } from '@jest/globals';
import { callUntil, type Clock, requireValue, systemClock } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import { defineKind, type Kind, type KubeObject } from '@cluster-apiserver/model/kind';
import { boolean, decode, jsonField, list as listOf, objectReference, string } from '@cluster-apiserver/model/schema';
import { type FollowedStore, type Store } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import {
  create,
  type DeleteOptions,
  deleteObject,
  get,
  type Outcome,
  type Registry,
  update,
  type Resource,
  type UpdateResult,
} from '../src/index.ts';
import { openTestRegistry } from './open-test-registry.ts';

const kind: Kind = defineKind({
  group: 'test.example',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: 'For these tests.',
  fields: {
    words: jsonField(listOf(string, 'atomic'), ''),
    parts: jsonField(listOf(objectReference, { keys: ['name'] }), ''),
    awake: jsonField(boolean, '', 'given'),
  },
  deletedAnswer: 'object',
});

export const call = callUntil(Number.POSITIVE_INFINITY);

export const robot = (metadata: object, fields: object = {}): KubeObject =>
  decode(kind.schema, { kind: 'Robot', apiVersion: 'test.example/v1', metadata, ...fields }, () => {});

/** The options of a list of all robots in one namespace. */
export const everything = {
  namespace: 'n',
  labels: undefined,
  fields: undefined,
  resourceVersion: undefined,
  resourceVersionMatch: undefined,
  limit: undefined,
  continue: undefined,
  sendInitialEvents: undefined,
};

/** The verbs on robots of one namespace, in a registry that each test has for itself. */
export interface Robots {
  nowMs: number;
  /** A test may replace it, such as by one whose store is raced. */
  resource: Resource;
  readonly memory: ReturnType<typeof memoryStore>;
  readonly warnings: readonly string[];
  readonly options: {
    readonly namespace: string;
    readonly dryRun: boolean;
    readonly manager: string;
    readonly warn: (text: string) => void;
  };
  readonly make: (metadata: object, fields?: object) => Promise<Outcome>;
  readonly put: (name: string, metadata: object, fields?: object) => Promise<UpdateResult>;
  readonly read: (name: string) => Promise<Outcome>;
  readonly remove: (name: string, more?: Partial<DeleteOptions>) => ReturnType<typeof deleteObject>;
  /** Continues with a replica that remembers nothing of what was before it. */
  readonly switchReplica: () => Promise<void>;
}

export function useRobots(): Robots {
  let registry: Registry;
  let warnings: string[];
  const options = {
    namespace: 'n',
    dryRun: false,
    manager: 'm',
    warn: (text: string): void => void warnings.push(text),
  };
  const clock: Clock = { ...systemClock, now: () => robots.nowMs };
  const open = (store: FollowedStore): void => {
    registry = openTestRegistry(kind, store, clock);
    robots.resource = requireValue(registry.api.stored[0]);
  };
  const verbs: Partial<Robots> = {
    options,
    make: (metadata, fields) => create(robots.resource, robot(metadata, fields), options, call),
    put: (name, metadata, fields) => update(robots.resource, name, robot({ name, ...metadata }, fields), options, call),
    read: async (name) => get(robots.resource, { namespace: 'n', name }, undefined, call),
    remove: (name, more = {}) => deleteObject(robots.resource, name, { namespace: 'n', dryRun: false, ...more }, call),
    switchReplica: async () => {
      await registry.cache.close();
      open(robots.memory);
    },
  };
  // The rest is set before each test.
  const robots = verbs as { -readonly [Field in keyof Robots]: Robots[Field] };
  beforeEach(() => {
    robots.nowMs = Date.UTC(2026, 0, 1);
    robots.warnings = warnings = [];
    robots.memory = memoryStore(clock);
    open(robots.memory);
  });
  afterEach(() => registry.cache.close());
  return robots;
}

/** The error of a verb that must fail. */
export const failing = async (verb: Promise<unknown>): Promise<StatusError> =>
  verb.then(
    () => {
      throw new Error('it succeeded');
    },
    (error: StatusError) => error,
  );

/** A store in which something happens just before the first write. */
export const raced = (store: Store, before: () => Promise<unknown>): Store => {
  let done = false;
  const first = async (): Promise<void> => {
    if (done) return;
    done = true;
    await before();
  };
  return {
    get: (...args) => store.get(...args),
    list: (...args) => store.list(...args),
    create: async (...args) => (await first(), store.create(...args)),
    update: async (...args) => (await first(), store.update(...args)),
    delete: async (...args) => (await first(), store.delete(...args)),
    end: async (...args) => (await first(), store.end(...args)),
    writeCongestion: 1,
  };
};
