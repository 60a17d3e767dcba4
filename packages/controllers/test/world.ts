/** Accounts and events to create and delete, and replicas that collect garbage. */
import { type Clock, invariant, seededRandom } from '@cluster-apiserver/base';
import type { KubeObject, OwnerReference } from '@cluster-apiserver/model/kind';
import type { LiveApi, Registry, Resource } from '@cluster-apiserver/registry';
import type { Call, FollowedStore } from '@cluster-apiserver/storage';
import { collectGarbage } from '../src/garbage-collector/garbage-collector.ts';
import type { LoggedEvent } from './recorded-log.ts';
import { beginTerm, type Term } from './term.ts';
import { changeObject, createObject, listObjects, openTestRegistry, readObject, removeObject } from './objects.ts';

export interface Place {
  readonly namespace?: string;
  readonly owners?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

export interface Collecting {
  readonly events: readonly LoggedEvent[];
  readonly measured: Term['measured'];
  readonly synced: boolean;
  stop(): Promise<void>;
}

export interface World {
  readonly api: LiveApi;
  /** All kinds. */
  readonly resources: readonly Resource[];
  readonly accounts: Resource;
  readonly events: Resource;
  account(name: string, place?: Place): Promise<KubeObject>;
  event(name: string, place?: Place): Promise<KubeObject>;
  /** The current object; undefined if it no longer exists, even if its name is used again. */
  read(object: KubeObject): Promise<KubeObject | undefined>;
  names(resource: Resource): Promise<string[]>;
  change(object: KubeObject, change: (metadata: KubeObject['metadata']) => KubeObject['metadata']): Promise<void>;
  remove(object: KubeObject, propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'): Promise<void>;
  collect(through?: FollowedStore, clock?: Clock): Collecting;
  close(): Promise<void>;
}

export interface WorldOptions {
  readonly store: FollowedStore;
  readonly clock: Clock;
  readonly call: () => Call;
}

export const owned = (owner: KubeObject, more: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: owner.apiVersion as string,
  kind: owner.kind as string,
  name: owner.metadata.name as string,
  uid: owner.metadata.uid as string,
  ...more,
});

export const blocking = (owner: KubeObject): OwnerReference => owned(owner, { blockOwnerDeletion: true });

export function createWorld({ store, clock, call }: WorldOptions): World {
  const random = seededRandom(1);
  const open = (through: FollowedStore): Registry => openTestRegistry(through, clock, random);
  const { api, cache } = open(store);
  const resources = api.stored;
  const [events, accounts] = resources;
  invariant(events && accounts, 'the two kinds of this server are what these tests are about');
  const resourceOf = (object: KubeObject): Resource => (object.kind === 'Event' ? events : accounts);
  const placeOf = ({ metadata: { namespace = '', name = '' } }: KubeObject) => ({ namespace, name });

  const make = (resource: Resource, name: string, { namespace = 'n', owners, finalizers }: Place, fields: object) => {
    const metadata = { ...(owners && { ownerReferences: owners }), ...(finalizers && { finalizers }) };
    return createObject(resource, { namespace, name }, { ...fields, metadata }, call());
  };
  return {
    api,
    resources,
    accounts,
    events,
    account: (name, place = {}) => make(accounts, name, place, {}),
    event: (name, place = {}) =>
      make(events, name, place, { involvedObject: { kind: 'Pod', name: 'p', namespace: place.namespace ?? 'n' } }),
    read: async (object) => {
      const found = await readObject(resourceOf(object), placeOf(object), call());
      return found?.metadata.uid === object.metadata.uid ? found : undefined;
    },
    names: async (resource) => {
      const objects = await listObjects(resource, call());
      return objects.map(({ metadata }) => metadata.name as string); // every stored object has one
    },
    change: (object, change) => {
      const changed = ({ metadata, ...rest }: KubeObject): KubeObject => ({ ...rest, metadata: change(metadata) });
      return changeObject(resourceOf(object), placeOf(object), changed, call());
    },
    remove: (object, propagationPolicy) => removeObject(resourceOf(object), placeOf(object), propagationPolicy, call()),
    close: () => cache.close(),
    collect: (through = store, ownClock = clock) => {
      const replica = open(through);
      const {
        events: logged,
        measured,
        stop,
      } = beginTerm(collectGarbage, { api: replica.api, clock: ownClock, random });
      return {
        events: logged,
        measured,
        get synced() {
          return logged.some(({ type }) => type === 'synced');
        },
        stop: async () => {
          await stop();
          await replica.cache.close();
        },
      };
    },
  };
}
