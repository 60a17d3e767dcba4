import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { ApiRequest } from '../exchange.ts';
import type { RequestInfo } from '../request-info.ts';

/** What the labels of a request follow from. */
export interface LabeledRequest {
  readonly request: ApiRequest;
  /** Undefined for a preflight request of a browser. */
  readonly info: RequestInfo | undefined;
  /** The kind that the request is about; undefined if it names none that is served. */
  readonly served?: ServedKind | undefined;
}

/** The labels of kube-apiserver for requests, without those that single metrics add. */
export type RequestLabels = Readonly<Record<keyof typeof requestLabels, string>>;

/** Their declaration for metrics. `labelsOf` bounds the values. */
export const requestLabels = {
  verb: 'any',
  group: 'any',
  version: 'any',
  resource: 'any',
  subresource: 'any',
  scope: 'any',
  component: 'any',
} as const;

/** The label for words of clients that name nothing that is served. */
const otherLabel = 'other';

/** As in kube-apiserver, which labels writes by their HTTP methods. */
const labelOfVerb: Readonly<Record<string, string>> = {
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
};

/** Labels of requests for paths that are not resources. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function verbLabel(request: ApiRequest, info: RequestInfo | undefined): string {
  if (info?.resource && info.verb !== '') {
    if (info.verb === 'patch' && request.header('content-type')?.startsWith('application/apply-patch+')) return 'APPLY';
    return labelOfVerb[info.verb] ?? otherLabel;
  }
  return methods.has(request.method) ? request.method : otherLabel;
}

/** As in kube-apiserver, a create has the scope of one object, although its path names none. */
export function scopeLabel(info: RequestInfo | undefined): '' | 'cluster' | 'namespace' | 'resource' {
  if (!info?.resource) return '';
  const { verb, resource } = info;
  if (resource.name !== undefined || verb === 'create') return 'resource';
  return resource.isInNamespace ? 'namespace' : 'cluster';
}

/** Paths of probes and scrapers. As in kube-apiserver, they are labeled as `subresource`. */
const probedDocuments = ['/livez', '/readyz', '/healthz', '/metrics'];

/** The subresource, or the document. Clients can send any path, so only what is served becomes a label. */
export function subresourceLabel({ info, served }: LabeledRequest): string {
  if (!info?.resource)
    return probedDocuments.find((one) => info?.path === one || info?.path.startsWith(`${one}/`)) ?? '';
  const { subresource } = info.resource;
  if (!served || subresource === undefined) return '';
  return served.subresourceForms.find(({ name }) => name === subresource)?.name ?? otherLabel;
}

export function labelsOf(measured: LabeledRequest): RequestLabels {
  const { request, info, served } = measured;
  const unserved = info?.resource ? otherLabel : '';
  return {
    verb: verbLabel(request, info),
    // The names of the kind, not the equal ones of the request: those are parts of its target, and labels are kept.
    group: served?.group ?? unserved,
    version: served?.version ?? unserved,
    resource: served?.plural ?? unserved,
    subresource: subresourceLabel(measured),
    scope: scopeLabel(info),
    component: 'apiserver',
  };
}
