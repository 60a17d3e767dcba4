import type { ServedKind } from '@cluster-apiserver/model';
import type { ApiRequest, RequestInfo } from '@cluster-apiserver/pipeline';

/** Upstream's labels of a request, but for those that single metrics add. */
export interface RequestLabels extends Readonly<Record<string, string>> {
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly scope: string;
  readonly component: string;
}

/** What the words of a client are counted as that nothing here is named by. */
const otherLabel = 'other';

/** As upstream, which names writes by their methods. */
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

/** Of what is no resource, and of OPTIONS. */
const methods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

export function verbLabel(request: ApiRequest, info: RequestInfo | undefined): string {
  if (info?.resource && info.verb !== '') {
    if (info.verb === 'patch' && request.header('content-type')?.startsWith('application/apply-patch+')) return 'APPLY';
    return labelOfVerb[info.verb] ?? otherLabel;
  }
  return methods.has(request.method) ? request.method : otherLabel;
}

export type Scope = '' | 'cluster' | 'namespace' | 'resource';

/** As upstream: a create is about one object, although its path names none. */
export function scopeLabel({ verb, resource }: RequestInfo): Scope {
  if (!resource) return '';
  if (resource.name !== undefined || verb === 'create') return 'resource';
  return resource.inNamespace ? 'namespace' : 'cluster';
}

/** What probes and scrapers ask for again and again. As upstream, it is told apart by `subresource`. */
const probedDocuments = ['/livez', '/readyz', '/healthz', '/metrics'];

export const documentLabel = (path: string): string =>
  probedDocuments.find((document) => path === document || path.startsWith(`${document}/`)) ?? '';

/** Paths name what they like, with or without a right to it: only what is served becomes a label. */
export function createRequestLabeler(
  kinds: readonly ServedKind[],
): (request: ApiRequest, info: RequestInfo | undefined) => RequestLabels {
  const subresources = new Map(
    kinds.map((kind) => [nameOf(kind), new Set(['', ...kind.subresourceForms.map(({ name }) => name)])]),
  );
  return (request, info) => {
    const verb = verbLabel(request, info);
    const component = 'apiserver';
    const nothing = { verb, group: '', version: '', resource: '', scope: '', component };
    if (!info?.resource) return { ...nothing, subresource: documentLabel(info?.path ?? '') };
    const { group, version, plural, subresource = '' } = info.resource;
    const scope = scopeLabel(info);
    const known = subresources.get(nameOf(info.resource));
    if (!known)
      return { ...nothing, group: otherLabel, version: otherLabel, resource: otherLabel, subresource: '', scope };
    return {
      ...nothing,
      group,
      version,
      resource: plural,
      subresource: known.has(subresource) ? subresource : otherLabel,
      scope,
    };
  };
}

const nameOf = ({ group, version, plural }: Pick<ServedKind, 'group' | 'version' | 'plural'>): string =>
  `${group}/${version}/${plural}`;
