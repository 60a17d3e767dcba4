import type { ApiRequest, RequestInfo } from '@cluster-apiserver/pipeline';
import type { ServedVersions } from '../api/served-versions.ts';

/** The labels of kube-apiserver for requests, without those that single metrics add. */
export interface RequestLabels extends Readonly<Record<string, string>> {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly component: string;
}

/** Their declaration for metrics. The labeler bounds the values. */
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

export type Scope = '' | 'cluster' | 'namespace' | 'resource';

/** As in kube-apiserver, a create has the scope of one object, although its path names none. */
export function scopeLabel({ verb, resource }: RequestInfo): Scope {
  if (!resource) return '';
  if (resource.name !== undefined || verb === 'create') return 'resource';
  return resource.isInNamespace ? 'namespace' : 'cluster';
}

/** Paths of probes and scrapers. As in kube-apiserver, they are labeled as `subresource`. */
const probedDocuments = ['/livez', '/readyz', '/healthz', '/metrics'];

export const documentLabel = (path: string): string =>
  probedDocuments.find((document) => path === document || path.startsWith(`${document}/`)) ?? '';

/** Clients can send any path, so only names of served resources become labels. */
export function createRequestLabeler(
  find: ServedVersions['find'],
): (request: ApiRequest, info: RequestInfo | undefined) => RequestLabels {
  return (request, info) => {
    const verb = verbLabel(request, info);
    const component = 'apiserver';
    const nothing = { verb, group: '', version: '', resource: '', scope: '', component };
    if (!info?.resource) return { ...nothing, subresource: documentLabel(info?.path ?? '') };
    const { subresource = '' } = info.resource;
    const scope = scopeLabel(info);
    const known = find(info.resource.group, info.resource.version, info.resource.plural);
    if (!known)
      return { ...nothing, group: otherLabel, version: otherLabel, resource: otherLabel, subresource: '', scope };
    // The names of the kind, not the equal ones of the request: those are parts of its target, and labels are kept.
    const { group, version, plural: resource } = known;
    const form = known.subresourceForms.find(({ name }) => name === subresource);
    return {
      ...nothing,
      group,
      version,
      resource,
      subresource: subresource === '' ? '' : (form?.name ?? otherLabel),
      scope,
    };
  };
}
