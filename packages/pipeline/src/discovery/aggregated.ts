import { requireValue, type SyncTask } from '@cluster-apiserver/base';
import { encodeEnvelope, messageParts, type TypeNames } from '@cluster-apiserver/model/codec';
import type { ApiVersion, Review } from '@cluster-apiserver/model/kind';
import type { ApiRequest } from '../exchange.ts';
import { type MediaType, mediaTypes } from '../encoding/encode.ts';
import { parseMediaRanges } from '../encoding/media-ranges.ts';
import { aggregatedSchema } from './protobuf.ts';
import { type ServedGroup, type ServedVersion, listServedResources } from './served-groups.ts';

/** Aggregated discovery: all groups with all resources in one response. */

const apiGroup = 'apidiscovery.k8s.io';
const listKind = 'APIGroupDiscoveryList';

/** A version of the list in an encoding. */
export interface AggregatedForm {
  readonly version: string;
  readonly type: MediaType;
}

const formsIn = (type: MediaType): readonly AggregatedForm[] => ['v2', 'v2beta1'].map((version) => ({ version, type }));
const jsonForms = formsIn('application/json');
const forms = [...jsonForms, ...formsIn('application/vnd.kubernetes.protobuf')];

/** The same version in JSON. */
export const inJson = (form: AggregatedForm): AggregatedForm =>
  requireValue(jsonForms.find(({ version }) => version === form.version));

export const mediaTypeOf = ({ type, version }: AggregatedForm): string =>
  `${type};g=${apiGroup};v=${version};as=${listKind}`;

/** The form of aggregated discovery that the client prefers, or undefined for unaggregated discovery. */
export function negotiateAggregated(request: ApiRequest): AggregatedForm | undefined {
  for (const { type, parameters } of parseMediaRanges(request.header('accept'))) {
    const requested = parameters.get('as');
    if (requested === undefined && plainTypes.has(type)) return undefined;
    if (requested !== listKind || parameters.get('g') !== apiGroup) continue;
    const form = forms.find((one) => one.type === type && one.version === parameters.get('v'));
    if (form) return form;
  }
  return undefined;
}

const plainTypes = new Set(['*/*', 'application/*', ...Object.keys(mediaTypes)]);

/** The list, in steps. */
export function* encodeAggregated(groups: readonly ServedGroup[], form: AggregatedForm): SyncTask<string | Buffer> {
  const head = { kind: listKind, apiVersion: `${apiGroup}/${form.version}` };
  return form.type === 'application/json'
    ? yield* aggregatedJson(groups, head)
    : yield* aggregatedProtobuf(groups, head);
}

function* aggregatedProtobuf(groups: readonly ServedGroup[], head: TypeNames): SyncTask<Buffer> {
  const items: object[] = [];
  for (const { name, versions } of groups) {
    const shown: object[] = [];
    for (const served of versions) shown.push(yield* versionObject(served));
    items.push({ metadata: { name }, versions: shown });
  }
  const parts = yield* messageParts(aggregatedSchema, { items });
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([encodeEnvelope(head, length), ...parts]);
}

/** Texts of versions are kept, because most changes concern one of them. */
function* aggregatedJson(groups: readonly ServedGroup[], names: TypeNames): SyncTask<string> {
  const items: string[] = [];
  for (const { name, versions } of groups) {
    const texts: string[] = [];
    for (const served of versions) texts.push(yield* versionJson(served));
    items.push(`{"metadata":${JSON.stringify(name ? { name } : {})},"versions":[${texts.join(',')}]}`);
  }
  const head = JSON.stringify({ ...names, metadata: {}, items: [] });
  return `${head.slice(0, -']}'.length)}${items.join(',')}]}\n`;
}

const jsonByVersion = new WeakMap<ServedVersion, string>();

function* versionJson(served: ServedVersion): SyncTask<string> {
  const known = jsonByVersion.get(served);
  if (known !== undefined) return known;
  const text = JSON.stringify(yield* versionObject(served));
  jsonByVersion.set(served, text);
  return text;
}

function* versionObject({ version, kinds }: ServedVersion): SyncTask<object> {
  const resources: object[] = [];
  for (const kind of kinds) {
    resources.push(resource(kind));
    yield;
  }
  return { version, resources, freshness: 'Current' };
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
