import { type Clock, largeBytesMin, runTask, type SyncTask } from '@cluster-apiserver/base';
import type { CustomResourceDefinition } from '@cluster-apiserver/kinds';
import type { ApiSnapshot, Resource, StoredObject } from '@cluster-apiserver/registry';
import { requireKind } from '../object-of-kind.ts';

export const definitionsIn = (api: ApiSnapshot): Resource | undefined =>
  api.byGroupKind('apiextensions.k8s.io', 'CustomResourceDefinition');

/** The kind of a definition in its stored version; undefined while it is not served. */
export const kindOfDefinition = ({ stored }: ApiSnapshot, name: string): Resource | undefined =>
  stored.find(({ kind }) => kind.definition === name);

/** The kinds that are served, by the names of their definitions. */
export const kindsOfDefinitions = ({ stored }: ApiSnapshot): ReadonlyMap<string | undefined, Resource> =>
  new Map(stored.map((resource) => [resource.kind.definition, resource]));

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
