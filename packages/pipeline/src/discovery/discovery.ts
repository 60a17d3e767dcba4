import type { Kind, Review } from '@cluster-apiserver/model';
import type { NonResourceHandler, NonResourceRoutes } from '../non-resource/router.ts';
import { respondEncoded, respondPrepared, prepareBody, prepareEncodings } from '../non-resource/prepared-response.ts';
import {
  type AggregatedVersion,
  aggregatedAsked,
  aggregatedList,
  aggregatedType,
  aggregatedVersions,
} from './aggregated.ts';
import { coreVersions, group, groupList, resourceList } from './lists.ts';
import { type ServedGroup, servedGroups } from './served-groups.ts';

/** The response of `/version`. */
export interface VersionInfo {
  readonly major: string;
  readonly minor: string;
  readonly gitVersion: string;
  readonly gitCommit: string;
  readonly gitTreeState: string;
  readonly buildDate: string;
  readonly goVersion: string;
  readonly compiler: string;
  readonly platform: string;
}

/** The discovery paths: `/api`, `/apis`, those of groups and versions, and `/version`. */
export function discoveryRoutes(kinds: readonly (Kind | Review)[], version: VersionInfo): NonResourceRoutes {
  const groups = servedGroups(kinds);
  const core = groups.filter(({ name }) => name === '');
  const named = groups.filter(({ name }) => name !== '');
  const paths: [string, NonResourceHandler][] = [
    ['/version', plain(version)],
    ['/api', rootDocument(coreVersions(core[0]), core)],
    ['/apis', rootDocument(groupList(named), named)],
    ...core.flatMap(({ versions }) =>
      versions.map((served): [string, NonResourceHandler] => [`/api/${served.version}`, plain(resourceList(served))]),
    ),
    ...named.flatMap((served): [string, NonResourceHandler][] => [
      [`/apis/${served.name}`, plain(group(served))],
      ...served.versions.map((one): [string, NonResourceHandler] => [
        `/apis/${one.groupVersion}`,
        plain(resourceList(one)),
      ]),
    ]),
  ];
  // Clients that are generated from published OpenAPI documents append a slash.
  return Object.fromEntries(paths.flatMap(([path, document]) => [[path, document] as const, [`${path}/`, document]]));
}

function plain(value: object): NonResourceHandler {
  const forms = prepareEncodings(value);
  return (context) => respondEncoded(context, forms);
}

/** A path that serves both forms of discovery. */
function rootDocument(list: object, groups: readonly ServedGroup[]): NonResourceHandler {
  const inPieces = plain(list);
  const atOnce = new Map(
    aggregatedVersions.map((version: AggregatedVersion) => [
      version,
      prepareBody(aggregatedType(version), `${JSON.stringify(aggregatedList(groups, version))}\n`),
    ]),
  );
  return (context, parameters, paths) => {
    const asked = aggregatedAsked(context.request);
    const found = asked && atOnce.get(asked);
    return found ? respondPrepared(context, found) : inPieces(context, parameters, paths);
  };
}
