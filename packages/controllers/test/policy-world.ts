/** Roles and bindings on a store in memory, and replicas that work on them. */
import { type PolicyRule, rbacGroup, type RbacSubject } from '@cluster-apiserver/model';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import type { Registry } from '@cluster-apiserver/registry';
import { type FollowedStore } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { type DisturbedStore, disturbedStore } from './disturbed-store.ts';
import { changeObject, createObject, openTestRegistry, readObject, removeObject, resourceIn } from './objects.ts';

export interface PolicyWorld {
  readonly clock: FakeClock;
  readonly store: DisturbedStore;
  /** A replica of its own; through the store that can be disturbed, if nothing else is said. */
  open(through?: FollowedStore): Registry;
  set(plural: string, name: string, fields: object, namespace?: string): Promise<void>;
  change(plural: string, name: string, change: (object: KubeObject) => KubeObject): Promise<void>;
  remove(plural: string, name: string, namespace?: string): Promise<void>;
  read(plural: string, name: string): Promise<KubeObject | undefined>;
  /** What is stored cannot be read until the returned function is called. */
  lock(plural: string, name: string): () => void;
  close(): Promise<void>;
}

export const grants = (name: string, subjects: readonly RbacSubject[], kind = 'ClusterRole'): object => ({
  roleRef: { apiGroup: rbacGroup, kind, name },
  subjects,
});
export const ruleFor = (...resources: string[]): PolicyRule => ({ verbs: ['get'], apiGroups: [''], resources });
export const userNamed = (name: string): RbacSubject => ({ kind: 'User', apiGroup: rbacGroup, name });

export function policyWorld(): PolicyWorld {
  const clock = fakeClock();
  const memory = memoryStore(fakeClock());
  const store = disturbedStore(memory);
  const opened: Registry[] = [];
  const open = (through: FollowedStore = store): Registry => {
    const registry = openTestRegistry(through, clock);
    opened.push(registry);
    return registry;
  };
  const own = open(memory);
  return {
    clock,
    store,
    open,
    set: async (plural, name, fields, namespace) => {
      await createObject(resourceIn(own, plural), { namespace, name }, fields);
    },
    change: (plural, name, change) => changeObject(resourceIn(own, plural), { name }, change),
    remove: (plural, name, namespace) => removeObject(resourceIn(own, plural), { namespace, name }),
    read: (plural, name) => readObject(resourceIn(own, plural), { name }),
    lock: (plural, name) => store.lock(resourceIn(own, plural).collection.descriptor.prefix + name),
    close: async () => {
      for (const { cache } of opened) await cache.close();
      memory.close();
    },
  };
}
