import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import { madeOnce } from './non-resource/live-routes.ts';
import type { FindServed } from './stages/identify.ts';
import type { LiveApi } from '@cluster-apiserver/registry';

/** What clients see: the versions of all kinds that are served at present, and the reviews. */
export interface ServedVersions {
  /** The same list until something changes. */
  readonly list: () => readonly (ApiVersion | Review)[];
  readonly find: FindServed;
  readonly onChange: (listener: () => void) => void;
}

export function createServedVersions(api: LiveApi, reviews: readonly Review[]): ServedVersions {
  const listOf = madeOnce((resources: LiveApi['resources']) => [...resources.map(({ served }) => served), ...reviews]);
  return {
    list: () => listOf(api.resources),
    find: ({ group, version, plural }) =>
      api.byPath(group, version, plural)?.served ??
      reviews.find((review) => review.group === group && review.version === version && review.plural === plural),
    onChange: (listener) => void api.onChange(listener),
  };
}
