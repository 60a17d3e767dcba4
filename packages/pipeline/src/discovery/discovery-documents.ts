import type { Kind, Review } from '@cluster-apiserver/model';
import type { Document, Documents } from '../documents.ts';
import { answerInForm, answerReady, ready, readyForms } from '../ready-document.ts';
import {
  type AggregatedVersion,
  aggregatedAsked,
  aggregatedList,
  aggregatedType,
  aggregatedVersions,
} from './aggregated.ts';
import { coreVersions, group, groupList, resourceList } from './lists.ts';
import { type ServedGroup, servedGroups } from './served-groups.ts';

/** What `/version` tells. */
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

/** What is served here: `/api`, `/apis` and what is below them without being a resource, and `/version`. */
export function discoveryDocuments(kinds: readonly (Kind | Review)[], version: VersionInfo): Documents {
  const groups = servedGroups(kinds);
  const core = groups.filter(({ name }) => name === '');
  const named = groups.filter(({ name }) => name !== '');
  const paths: [string, Document][] = [
    ['/version', plain(version)],
    ['/api', rootDocument(coreVersions(core[0]), core)],
    ['/apis', rootDocument(groupList(named), named)],
    ...core.flatMap(({ versions }) =>
      versions.map((served): [string, Document] => [`/api/${served.version}`, plain(resourceList(served))]),
    ),
    ...named.flatMap((served): [string, Document][] => [
      [`/apis/${served.name}`, plain(group(served))],
      ...served.versions.map((one): [string, Document] => [`/apis/${one.groupVersion}`, plain(resourceList(one))]),
    ]),
  ];
  // Clients that were generated from published documents put a slash behind these paths.
  return Object.fromEntries(paths.flatMap(([path, document]) => [[path, document] as const, [`${path}/`, document]]));
}

function plain(value: object): Document {
  const forms = readyForms(value);
  return (facts) => answerInForm(facts, forms);
}

/** A path that has both forms of discovery. */
function rootDocument(list: object, groups: readonly ServedGroup[]): Document {
  const inPieces = plain(list);
  const atOnce = new Map(
    aggregatedVersions.map((version: AggregatedVersion) => [
      version,
      ready(aggregatedType(version), `${JSON.stringify(aggregatedList(groups, version))}\n`),
    ]),
  );
  return (facts, parameters, paths) => {
    const asked = aggregatedAsked(facts.request);
    const found = asked && atOnce.get(asked);
    return found ? answerReady(facts, found) : inPieces(facts, parameters, paths);
  };
}
