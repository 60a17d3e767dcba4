import { type Clock, largeBytesMin, runTask, type SyncTask } from '@cluster-apiserver/base';
import type { CustomResourceDefinition } from '@cluster-apiserver/kinds';
import type { LiveApi, Resource, StoredObject } from '@cluster-apiserver/registry';
import { requireKind } from '../object-of-kind.ts';

export const definitionsIn = (api: LiveApi): Resource | undefined =>
  api.byGroupKind('apiextensions.k8s.io', 'CustomResourceDefinition');

export const definitionOf = ({ object }: StoredObject): CustomResourceDefinition =>
  requireKind(object, 'CustomResourceDefinition');

/** In steps, unless it is in memory. */
export function* decodeDefinition(item: StoredObject): SyncTask<CustomResourceDefinition> {
  return requireKind(yield* item.decode(), 'CustomResourceDefinition');
}

/** A large definition is decoded in time slices of its own. */
export const readDefinition = (
  clock: Clock,
  item: StoredObject,
): CustomResourceDefinition | Promise<CustomResourceDefinition> =>
  runTask(clock, undefined, decodeDefinition(item), item.json.length >= largeBytesMin);
