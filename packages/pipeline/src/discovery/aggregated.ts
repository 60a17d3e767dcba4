import type { Kind, Review } from '@cluster-apiserver/model';
import type { ApiRequest } from '../exchange.ts';
import { parseMediaRanges } from '../encoding/media-ranges.ts';
import { type ServedGroup, listServedResources } from './served-groups.ts';

/** Aggregated discovery: all groups with all resources in one response. */

export const aggregatedVersions = ['v2', 'v2beta1'] as const;
export type AggregatedVersion = (typeof aggregatedVersions)[number];

const apiGroup = 'apidiscovery.k8s.io';
const listKind = 'APIGroupDiscoveryList';

export const aggregatedMediaType = (version: AggregatedVersion): string =>
  `application/json;g=${apiGroup};v=${version};as=${listKind}`;

/** The version of aggregated discovery that the client prefers, or undefined for unaggregated discovery. */
export function negotiateAggregatedVersion(request: ApiRequest): AggregatedVersion | undefined {
  for (const { type, parameters } of parseMediaRanges(request.header('accept'))) {
    const form = parameters.get('as');
    if (form === undefined && plainTypes.has(type)) return undefined;
    if (form !== listKind || type !== 'application/json' || parameters.get('g') !== apiGroup) continue;
    const version = aggregatedVersions.find((one) => one === parameters.get('v'));
    if (version) return version;
  }
  return undefined;
}

const plainTypes = new Set(['*/*', 'application/*', 'application/json', 'application/yaml']);

export const formatAggregatedList = (groups: readonly ServedGroup[], version: AggregatedVersion): object => ({
  kind: listKind,
  apiVersion: `${apiGroup}/${version}`,
  metadata: {},
  items: groups.map(({ name, versions }) => ({
    metadata: name ? { name } : {},
    versions: versions.map(({ version: servedVersion, kinds }) => ({
      version: servedVersion,
      resources: kinds.map(resource),
      freshness: 'Current',
    })),
  })),
});

function resource(kind: Kind | Review): object {
  const [main, ...subresources] = listServedResources(kind).map(({ subresource, target, verbs }) => ({
    subresource,
    responseKind: { group: target.group, version: target.version, kind: target.kind },
    verbs,
  }));
  return {
    resource: kind.plural,
    responseKind: main?.responseKind,
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: main?.verbs,
    ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
    ...(kind.categories && { categories: kind.categories }),
    ...(subresources.length > 0 && { subresources }),
  };
}
