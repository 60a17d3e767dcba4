import type { Resource } from './resource.ts';
import type { LiveApi } from './served-api.ts';

/** The same API with other resources, such as ones that write only as long as this replica leads. */
export function mapApi(api: LiveApi, map: (resource: Resource) => Resource): LiveApi {
  const resources = new WeakMap<Resource, Resource>();
  const lists = new WeakMap<readonly Resource[], readonly Resource[]>();
  const mapped = (resource: Resource): Resource => {
    const known = resources.get(resource) ?? map(resource);
    resources.set(resource, known);
    return known;
  };
  const mappedIfFound = (resource: Resource | undefined): Resource | undefined => resource && mapped(resource);
  const listOf = (list: readonly Resource[]): readonly Resource[] => {
    const known = lists.get(list) ?? list.map(mapped);
    lists.set(list, known);
    return known;
  };
  return {
    get resources() {
      return listOf(api.resources);
    },
    get stored() {
      return listOf(api.stored);
    },
    get isLoading() {
      return api.isLoading;
    },
    byPath: (...path) => mappedIfFound(api.byPath(...path)),
    byKind: (...kind) => mappedIfFound(api.byKind(...kind)),
    byGroupKind: (...kind) => mappedIfFound(api.byGroupKind(...kind)),
    byDefinition: (name) => mappedIfFound(api.byDefinition(name)),
    ofVersion: (version) => mappedIfFound(api.ofVersion(version)),
    onChange: (listener) =>
      api.onChange(({ came, went }) => listener({ came: came.map(mapped), went: went.map(mapped) })),
  };
}
