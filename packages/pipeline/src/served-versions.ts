import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import type { FindServed } from './stages/identify.ts';
import type { ApiSnapshot, LiveApi } from '@cluster-apiserver/registry';

/** What clients see: the versions of all kinds that are served at present, and the reviews. */
export interface ServedVersions {
  /** The same list until something changes. */
  readonly list: () => readonly (ApiVersion | Review)[];
  readonly find: FindServed;
  readonly onChange: (listener: () => void) => void;
}

export function createServedVersions(api: LiveApi, reviews: readonly Review[]): ServedVersions {
  let snapshot: ApiSnapshot | undefined;
  let list: readonly (ApiVersion | Review)[] = [];
  return {
    list: () => {
      if (snapshot !== api.current) list = [...api.current.resources.map(({ served }) => served), ...reviews];
      snapshot = api.current;
      return list;
    },
    find: ({ group, version, plural }) =>
      api.current.byPath(group, version, plural)?.served ??
      reviews.find((review) => review.group === group && review.version === version && review.plural === plural),
    onChange: (listener) => void api.onChange(listener),
  };
}
