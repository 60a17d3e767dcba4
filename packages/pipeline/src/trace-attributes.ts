import type { SpanAttributes } from '@cluster-apiserver/base';
import type { ApiRequest } from './exchange.ts';
import type { RequestInfo, ResourceInfo } from './request-info.ts';

/** What is known when the span begins: a request that is refused early has only the first field. */
export interface TracedRequest {
  readonly request: ApiRequest;
  readonly info?: RequestInfo | undefined;
  readonly auditId?: string | undefined;
}

/** OpenTelemetry's semantic conventions require `_OTHER` for any other method, since clients choose it. */
const knownMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'CONNECT',
  'TRACE',
]);

/** As in kube-apiserver: the method and the path of the resource without names. */
export function spanName({ request, info }: TracedRequest): string {
  const method = knownMethods.has(request.method) ? request.method : 'HTTP';
  return info?.resource ? `${method} ${routeTemplate(info.resource)}`.slice(0, nameCharactersMax) : method;
}

/** Clients choose the path, so the resource may not exist. */
const nameCharactersMax = 256;

function routeTemplate({
  group,
  version,
  isInNamespace: inNamespace,
  plural,
  name,
  subresource,
  isWatchPath: watchPath,
}: ResourceInfo): string {
  return [
    group === '' ? '/api' : `/apis/${group}`,
    version,
    ...(watchPath ? ['watch'] : []),
    ...(inNamespace ? ['namespaces', '{:namespace}'] : []),
    plural,
    ...(name === undefined ? [] : ['{:name}']),
    ...(subresource === undefined ? [] : [subresource]),
  ].join('/');
}

/** No credentials, no body, and only query parameters that cannot hold any. */
export function requestAttributes({ request, info, auditId }: TracedRequest): SpanAttributes {
  const { method, protocol, remoteAddress } = request;
  const isKnown = knownMethods.has(method);
  const userAgent = request.header('user-agent');
  return {
    'http.request.method': isKnown ? method : '_OTHER',
    ...(!isKnown && { 'http.request.method_original': method }),
    'url.scheme': 'https',
    'network.protocol.version': protocol.slice('HTTP/'.length).replace(/^2\.0$/, '2'),
    'client.address': remoteAddress,
    ...(userAgent !== undefined && { 'user_agent.original': userAgent }),
    ...(auditId !== undefined && { 'audit-id': auditId }),
    ...(info && requestInfoAttributes(info)),
  };
}

function requestInfoAttributes({ path, query, verb, resource }: RequestInfo): SpanAttributes {
  const shownQuery = safeQuery(query);
  return {
    'url.path': path,
    ...(shownQuery !== '' && { 'url.query': shownQuery }),
    'apiserver.verb': verb,
    ...(resource && resourceAttributes(resource)),
  };
}

const resourceAttributes = (resource: ResourceInfo): SpanAttributes => ({
  'http.route': routeTemplate(resource),
  'apiserver.group': resource.group,
  'apiserver.version': resource.version,
  'apiserver.resource': resource.plural,
  ...(resource.subresource !== undefined && { 'apiserver.subresource': resource.subresource }),
  ...(resource.namespace !== undefined && { 'k8s.namespace.name': resource.namespace }),
});

/** Parameters that are recorded, and only with a value of this form. */
const safeParameters: Readonly<Record<string, RegExp>> = {
  allowWatchBookmarks: /^(true|false|1|0)$/,
  dryRun: /^All$/,
  fieldValidation: /^(Ignore|Warn|Strict)$/,
  force: /^(true|false|1|0)$/,
  gracePeriodSeconds: /^[0-9]{1,10}$/,
  limit: /^[0-9]{1,10}$/,
  propagationPolicy: /^(Orphan|Background|Foreground)$/,
  resourceVersion: /^[0-9]{1,20}$/,
  resourceVersionMatch: /^(Exact|NotOlderThan)$/,
  sendInitialEvents: /^(true|false|1|0)$/,
  timeout: /^[0-9]{1,6}(ms|s|m|h)$/,
  timeoutSeconds: /^[0-9]{1,10}$/,
  watch: /^(true|false|1|0)$/,
};

const safeQuery = (query: URLSearchParams): string =>
  query.size === 0
    ? ''
    : Object.entries(safeParameters)
        .flatMap(([name, form]) => {
          const value = query.get(name);
          return value !== null && form.test(value) ? [`${name}=${value}`] : [];
        })
        .join('&');
