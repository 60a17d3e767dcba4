import type { Kind, Review } from '@cluster-apiserver/model';
import type { ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import type { NonResourceHandler, NonResourceRoutes } from '../non-resource/router.ts';
import {
  type PreparedBody,
  respondEncoded,
  respondPrepared,
  prepareBody,
  prepareEncodings,
} from '../non-resource/prepared-response.ts';
import {
  type AggregatedVersion,
  negotiateAggregatedVersion,
  formatAggregatedList,
  aggregatedMediaType,
  aggregatedVersions,
} from './aggregated.ts';
import { formatCoreVersions, formatGroup, formatGroupList, formatResourceList } from './lists.ts';
import { type ServedGroup, listServedGroups } from './served-groups.ts';

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
  const groups = listServedGroups(kinds);
  const core = groups.filter(({ name }) => name === '');
  const named = groups.filter(({ name }) => name !== '');
  const paths: [string, NonResourceHandler][] = [
    ['/version', preparedHandler(version)],
    ['/api', rootHandler(formatCoreVersions(core[0]), core)],
    ['/apis', rootHandler(formatGroupList(named), named)],
    ...core.flatMap(({ versions }) =>
      versions.map((served): [string, NonResourceHandler] => [
        `/api/${served.version}`,
        objectHandler(formatResourceList(served)),
      ]),
    ),
    ...named.flatMap((served): [string, NonResourceHandler][] => [
      [`/apis/${served.name}`, objectHandler(formatGroup(served))],
      ...served.versions.map((one): [string, NonResourceHandler] => [
        `/apis/${one.groupVersion}`,
        objectHandler(formatResourceList(one)),
      ]),
    ]),
  ];
  // Clients that are generated from published OpenAPI documents append a slash.
  return Object.fromEntries(paths.flatMap(([path, document]) => [[path, document] as const, [`${path}/`, document]]));
}

function preparedHandler(value: object): NonResourceHandler {
  const encodings = prepareEncodings(value);
  return (context) => respondEncoded(context, encodings);
}

/** A path that serves both forms of discovery. */
function rootHandler(list: object, groups: readonly ServedGroup[]): NonResourceHandler {
  const unaggregated = objectHandler(list);
  const aggregated = new Map(
    aggregatedVersions.map((version: AggregatedVersion) => [
      version,
      prepareBody(aggregatedMediaType(version), `${JSON.stringify(formatAggregatedList(groups, version))}\n`),
    ]),
  );
  return (context, parameters, paths) => {
    const version = negotiateAggregatedVersion(context.request);
    const found = version && aggregated.get(version);
    return found
      ? recordObject(context, found, respondPrepared(context, found))
      : unaggregated(context, parameters, paths);
  };
}

/** For API objects. Like kube-apiserver, audit events of the level RequestResponse contain these, but not `/version`. */
function objectHandler(value: object): NonResourceHandler {
  const encodings = prepareEncodings(value);
  return (context) => recordObject(context, encodings.json, respondEncoded(context, encodings));
}

function recordObject({ audit }: AuthenticatedContext, { bytes }: PreparedBody, response: ApiResponse): ApiResponse {
  // A client that already has the object gets none.
  if (audit?.wantsResponseObject && response.status === 200) audit.logResponseObject([bytes.toString()], bytes.length);
  return response;
}
