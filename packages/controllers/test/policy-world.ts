/** Roles and bindings on a store in memory, and replicas that work on them. */
import { callUntil, toSyncTask, invariant, seededRandom } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { decode, type KubeObject, type PolicyRule, rbacGroup, type RbacSubject } from '@cluster-apiserver/model';
import {
  create,
  deleteObject,
  get,
  openRegistry,
  patch,
  type Registry,
  type Resource,
} from '@cluster-apiserver/registry';
import { memoryStore, type Store } from '@cluster-apiserver/storage';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { type DisturbedStore, disturbedStore } from './disturbed-store.ts';

export interface PolicyWorld {
  readonly clock: FakeClock;
  readonly store: DisturbedStore;
  /** A replica of its own; through the store that can be disturbed, if nothing else is said. */
  open(through?: Store): Registry;
  set(plural: string, name: string, fields: object, namespace?: string): Promise<void>;
  change(plural: string, name: string, change: (object: KubeObject) => KubeObject): Promise<void>;
  remove(plural: string, name: string, namespace?: string): Promise<void>;
  read(plural: string, name: string): Promise<KubeObject | undefined>;
  /** What is stored cannot be read until the returned function is called. */
  lock(plural: string, name: string): () => void;
  close(): Promise<void>;
}

export const policyCall = callUntil(Number.POSITIVE_INFINITY);

export const grants = (name: string, subjects: readonly RbacSubject[], kind = 'ClusterRole'): object => ({
  roleRef: { apiGroup: rbacGroup, kind, name },
  subjects,
});
export const ruleFor = (...resources: string[]): PolicyRule => ({ verbs: ['get'], apiGroups: [''], resources });
export const userNamed = (name: string): RbacSubject => ({ kind: 'User', apiGroup: rbacGroup, name });

export function resourceIn({ resources }: Registry, plural: string): Resource {
  const found = resources.find(({ kind }) => kind.plural === plural);
  invariant(found, `${plural} are served`);
  return found;
}

export function policyWorld(): PolicyWorld {
  const clock = fakeClock();
  const memory = memoryStore(fakeClock());
  const store = disturbedStore(memory);
  const opened: Registry[] = [];
  const open = (through: Store = store): Registry => {
    const registry = openRegistry({
      kinds: kinds({ eventLifetimeSeconds: 3_600 }),
      store: through,
      keyPrefix: '/registry',
      clock,
      random: seededRandom(1),
      report: () => {},
    });
    opened.push(registry);
    return registry;
  };
  const own = open(memory);
  const quiet = { dryRun: false, manager: 'a-test', warn: () => {}, unknownFields: () => {} };
  return {
    clock,
    store,
    open,
    set: async (plural, name, { metadata, ...fields }: { metadata?: object }, namespace) => {
      const resource = resourceIn(own, plural);
      const { kind, apiVersion, schema } = resource.kind;
      const draft = decode(schema, { kind, apiVersion, metadata: { name, ...metadata }, ...fields }, () => {});
      await create(resource, draft, { namespace, ...quiet }, policyCall);
    },
    change: async (plural, name, change) => {
      const options = { namespace: undefined, ...quiet, change: toSyncTask(change) };
      await patch(resourceIn(own, plural), name, options, policyCall);
    },
    remove: async (plural, name, namespace) => {
      await deleteObject(resourceIn(own, plural), name, { namespace, dryRun: false }, policyCall);
    },
    read: (plural, name) =>
      Promise.resolve(get(resourceIn(own, plural), { namespace: undefined, name }, undefined, policyCall)).then(
        ({ object }) => object,
        () => undefined,
      ),
    lock: (plural, name) => store.lock(resourceIn(own, plural).collection.descriptor.prefix + name),
    close: async () => {
      for (const { cache } of opened) await cache.close();
      memory.close();
    },
  };
}

/** Nothing in memory waits for anything but its turn, or the clock. */
export async function untilTrue(what: string, fact: () => Promise<boolean> | boolean): Promise<void> {
  for (let turns = 0; turns < 20_000; turns++) {
    if (await fact()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  throw new Error(`never came: ${what}`);
}

export async function quietTurns(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await new Promise((resolve) => setImmediate(resolve));
}
