import { type Clock, largeBytesMin, runTask, toSyncTask } from '@cluster-apiserver/base';
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

const parse = toSyncTask(definitionOf);

/** A large definition is parsed in a time slice of its own, unless it is in memory. */
export const readDefinition = (
  clock: Clock,
  item: StoredObject,
): CustomResourceDefinition | Promise<CustomResourceDefinition> =>
  runTask(clock, undefined, parse(item), item.json.length >= largeBytesMin);
