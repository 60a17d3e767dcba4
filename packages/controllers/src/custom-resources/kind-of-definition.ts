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

/** What was parsed last, as long as it is in memory anyway: a large definition takes several times its bytes. */
const parsed = new WeakMap<StoredObject, WeakRef<CustomResourceDefinition | Promise<CustomResourceDefinition>>>();

/** A large definition is parsed in a time slice of its own, and once for all controllers that look at it when it changes. */
export function readDefinition(
  clock: Clock,
  item: StoredObject,
): CustomResourceDefinition | Promise<CustomResourceDefinition> {
  const known = parsed.get(item)?.deref();
  if (known) return known;
  const reading = runTask(clock, undefined, parse(item), item.json.length >= largeBytesMin);
  parsed.set(item, new WeakRef(reading));
  return reading;
}
