import type { SyncTask } from '@cluster-apiserver/base';
import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import type { ApiRequest } from '../exchange.ts';
import { parseMediaRanges } from '../encoding/media-ranges.ts';
import { type ServedGroup, type ServedVersion, listServedResources } from './served-groups.ts';

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

/** The list as JSON, in steps. Texts of versions are kept, because most changes concern one of them. */
export function* aggregatedJson(groups: readonly ServedGroup[], version: AggregatedVersion): SyncTask<string> {
  const items: string[] = [];
  for (const { name, versions } of groups) {
    const texts: string[] = [];
    for (const served of versions) texts.push(yield* versionJson(served));
    items.push(`{"metadata":${JSON.stringify(name ? { name } : {})},"versions":[${texts.join(',')}]}`);
  }
  const head = JSON.stringify({ kind: listKind, apiVersion: `${apiGroup}/${version}`, metadata: {}, items: [] });
  return `${head.slice(0, -']}'.length)}${items.join(',')}]}`;
}

const jsonByVersion = new WeakMap<ServedVersion, string>();

function* versionJson(served: ServedVersion): SyncTask<string> {
  const known = jsonByVersion.get(served);
  if (known !== undefined) return known;
  const resources: object[] = [];
  for (const kind of served.kinds) {
    resources.push(resource(kind));
    yield;
  }
  const text = JSON.stringify({ version: served.version, resources, freshness: 'Current' });
  jsonByVersion.set(served, text);
  return text;
}

function resource(kind: ApiVersion | Review): object {
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
