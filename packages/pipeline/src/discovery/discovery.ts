import { type Clock, runTask, type SyncTask } from '@cluster-apiserver/base';
import type { ApiResponse } from '../exchange.ts';
import type { AuthenticatedContext } from '../request-context.ts';
import { type LiveRoutes, liveRoutes, madeOnce, type NonResourceHandler } from '../non-resource/live-routes.ts';

import {
  type PreparedBody,
  type PreparedEncodings,
  respondEncoded,
  respondPrepared,
  prepareBody,
  prepareEncodings,
} from '../non-resource/prepared-response.ts';
import { type AggregatedForm, encodeAggregated, inJson, mediaTypeOf, negotiateAggregated } from './aggregated.ts';
import {
  type DiscoveryDocument,
  formatCoreVersions,
  formatGroup,
  formatGroupList,
  formatResourceList,
  protobufFormOf,
} from './lists.ts';
import { liveGroups, type ServedKinds } from './live-groups.ts';
import type { ServedGroup, ServedVersion } from './served-groups.ts';

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
export function discoveryRoutes(served: ServedKinds, version: VersionInfo, clock: Clock): LiveRoutes {
  const ofVersion = madeOnce((one: ServedVersion) => objectHandler(() => formatResourceList(one)));
  const ofGroup = madeOnce((group: ServedGroup) => objectHandler(() => formatGroup(group)));
  const ownVersion = prepareEncodings(version);
  return liveRoutes(liveGroups(served), (groups) => {
    const core = groups.filter(({ name }) => name === '');
    const named = groups.filter(({ name }) => name !== '');
    const paths: (readonly [string, NonResourceHandler])[] = [
      ['/version', (context) => respondEncoded(context, ownVersion)],
      ['/api', rootHandler(() => formatCoreVersions(core[0]), core, clock)],
      ['/apis', rootHandler(() => formatGroupList(named), named, clock)],
      ...core.flatMap(({ versions }) => versions.map((one) => [`/api/${one.version}`, ofVersion(one)] as const)),
      ...named.flatMap((group) => [
        [`/apis/${group.name}`, ofGroup(group)] as const,
        ...group.versions.map((one) => [`/apis/${one.groupVersion}`, ofVersion(one)] as const),
      ]),
    ];
    // Clients that are generated from published OpenAPI documents append a slash.
    return paths.flatMap(([path, document]) => [[path, document] as const, [`${path}/`, document] as const]);
  });
}

/** A path that serves both forms of discovery. */
function rootHandler(list: () => DiscoveryDocument, groups: readonly ServedGroup[], clock: Clock): NonResourceHandler {
  const unaggregated = objectHandler(list);
  const prepared = new Map<AggregatedForm, PreparedBody | Promise<PreparedBody>>();
  const bodyIn = (form: AggregatedForm): PreparedBody | Promise<PreparedBody> => {
    const body = prepared.get(form) ?? runTask(clock, undefined, prepareAggregated(groups, form));
    prepared.set(form, body);
    return body;
  };
  return (context, parameters, paths) => {
    const form = negotiateAggregated(context.request);
    if (!form) return unaggregated(context, parameters, paths);
    const body = bodyIn(form);
    // Audit events have JSON.
    const json = context.audit?.wantsResponseObject ? bodyIn(inJson(form)) : body;
    const respond = (found: PreparedBody, recorded: PreparedBody): ApiResponse =>
      recordObject(context, recorded, respondPrepared(context, found));
    return body instanceof Promise || json instanceof Promise
      ? Promise.all([body, json]).then((both) => respond(...both))
      : respond(body, json);
  };
}

function* prepareAggregated(groups: readonly ServedGroup[], form: AggregatedForm): SyncTask<PreparedBody> {
  return prepareBody(mediaTypeOf(form), yield* encodeAggregated(groups, form));
}

/** For API objects. Like kube-apiserver, audit events of the level RequestResponse contain these, but not `/version`. */
function objectHandler(valueOf: () => DiscoveryDocument): NonResourceHandler {
  let encodings: PreparedEncodings | undefined;
  return (context) => {
    if (!encodings) {
      const document = valueOf();
      encodings = prepareEncodings(document, () => protobufFormOf(document));
    }
    return recordObject(context, encodings.json, respondEncoded(context, encodings));
  };
}

function recordObject({ audit }: AuthenticatedContext, { bytes }: PreparedBody, response: ApiResponse): ApiResponse {
  // A client that already has the object gets none.
  if (audit?.wantsResponseObject && response.status === 200) audit.logResponseObject([bytes.toString()], bytes.length);
  return response;
}
