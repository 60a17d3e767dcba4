import type { ApiSnapshot, Resource } from '@cluster-apiserver/registry';

export const definitionsIn = (api: ApiSnapshot): Resource | undefined =>
  api.byGroupKind('apiextensions.k8s.io', 'CustomResourceDefinition');

/** The kind of a definition in its stored version; undefined while it is not served. */
export const kindOfDefinition = ({ stored }: ApiSnapshot, name: string): Resource | undefined =>
  stored.find(({ kind }) => kind.definition === name);

/** The kinds that are served, by the names of their definitions. */
export const kindsOfDefinitions = ({ stored }: ApiSnapshot): ReadonlyMap<string | undefined, Resource> =>
  new Map(stored.map((resource) => [resource.kind.definition, resource]));
