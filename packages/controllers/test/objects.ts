/** Registries of all kinds, and what tests do with their objects. */
import { callUntil, type Clock, invariant, type Random, seededRandom, toSyncTask } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import {
  create,
  deleteObject,
  get,
  list,
  openRegistry,
  patch,
  type Registry,
  type Resource,
  StoredKinds,
} from '@cluster-apiserver/registry';
import type { FollowedStore } from '@cluster-apiserver/storage';

export const untimed = callUntil(Number.POSITIVE_INFINITY);

export const openTestRegistry = (store: FollowedStore, clock: Clock, random: Random = seededRandom(1)): Registry =>
  openRegistry({
    kinds: kinds({ eventLifetimeSeconds: 3_600 }),
    store,
    storedKinds: new StoredKinds('/registry'),
    clock,
    random,
    report: () => {},
  });

export function resourceIn({ api }: Registry, plural: string): Resource {
  const found = api.stored.find(({ kind }) => kind.plural === plural);
  invariant(found, `${plural} are served`);
  return found;
}

export interface Place {
  readonly namespace?: string | undefined;
  readonly name: string;
}

const quiet = { dryRun: false, manager: 'a-test', warn: () => {}, unknownFields: () => {} };

export async function createObject(
  resource: Resource,
  { namespace, name }: Place,
  { metadata, ...fields }: { readonly metadata?: object },
  call = untimed,
): Promise<KubeObject> {
  const { kind, apiVersion, schema } = resource.kind;
  const draft = decode(schema, { kind, apiVersion, ...fields, metadata: { name, namespace, ...metadata } }, () => {});
  return (await create(resource, draft, { namespace, ...quiet }, call)).object;
}

/** Undefined if it does not exist. */
export async function readObject(
  resource: Resource,
  { namespace, name }: Place,
  call = untimed,
): Promise<KubeObject | undefined> {
  try {
    return (await get(resource, { namespace, name }, undefined, call)).object;
  } catch {
    return undefined;
  }
}

/** The objects of all namespaces. */
export async function listObjects(resource: Resource, call = untimed): Promise<KubeObject[]> {
  const selection = { namespace: undefined, labels: undefined, fields: undefined };
  const page = { limit: undefined, continue: undefined, sendInitialEvents: undefined };
  const version = { resourceVersion: undefined, resourceVersionMatch: undefined };
  const { items } = await list(resource, { ...selection, ...page, ...version }, call);
  return items.map(({ object }) => object);
}

export async function changeObject(
  resource: Resource,
  { namespace, name }: Place,
  change: (object: KubeObject) => KubeObject,
  call = untimed,
): Promise<void> {
  await patch(resource, name, { namespace, ...quiet, change: toSyncTask(change) }, call);
}

export async function removeObject(
  resource: Resource,
  { namespace, name }: Place,
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan',
  call = untimed,
): Promise<void> {
  await deleteObject(resource, name, { namespace, dryRun: false, propagationPolicy }, call);
}
