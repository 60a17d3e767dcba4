import type { ApiSnapshot, Resource } from '@cluster-apiserver/registry';

export const definitionsIn = (api: ApiSnapshot): Resource | undefined =>
  api.byGroupKind('apiextensions.k8s.io', 'CustomResourceDefinition');

/** The kind of a definition in its stored version; undefined while it is not served. */
export const kindOfDefinition = ({ stored }: ApiSnapshot, name: string): Resource | undefined =>
  stored.find(({ kind }) => kind.definition === name);

/** The definitions whose kinds are served, by their names. */
export const servedDefinitions = ({ stored }: ApiSnapshot): ReadonlySet<string | undefined> =>
  new Set(stored.map(({ kind }) => kind.definition));
