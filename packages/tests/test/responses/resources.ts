import { bytesOf } from '@cluster-apiserver/model';
import type { ApiResponse } from '@cluster-apiserver/pipeline';
import type { InMemoryServer } from '../serve-in-memory.ts';

const rbac = 'rbac.authorization.k8s.io/v1';

/** Resources to which the same rules apply; each test runs on all of them. `key` is the storage prefix. */
export const servedResources = [
  {
    path: '/api/v1/namespaces/n/serviceaccounts',
    key: '/registry/serviceaccounts/n',
    apiVersion: 'v1',
    kind: 'ServiceAccount',
  },
  { path: '/api/v1/namespaces/n/events', key: '/registry/events/n', apiVersion: 'v1', kind: 'Event' },
  {
    path: '/apis/events.k8s.io/v1/namespaces/n/events',
    key: '/registry/events/n',
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
  },
  { path: `/apis/${rbac}/namespaces/n/roles`, key: '/registry/roles/n', apiVersion: rbac, kind: 'Role' },
  {
    path: `/apis/${rbac}/namespaces/n/rolebindings`,
    key: '/registry/rolebindings/n',
    apiVersion: rbac,
    kind: 'RoleBinding',
  },
  { path: `/apis/${rbac}/clusterroles`, key: '/registry/clusterroles', apiVersion: rbac, kind: 'ClusterRole' },
  {
    path: `/apis/${rbac}/clusterrolebindings`,
    key: '/registry/clusterrolebindings',
    apiVersion: rbac,
    kind: 'ClusterRoleBinding',
  },
] as const;
/** Namespaces have no deletecollection, and stay until they are empty. */
export const namespaces = {
  path: '/api/v1/namespaces',
  key: '/registry/namespaces',
  apiVersion: 'v1',
  kind: 'Namespace',
} as const;
export type ServedResource = (typeof servedResources)[number] | typeof namespaces;

/** A valid object of the resource. */
export const validObject = ({ apiVersion, kind }: ServedResource, metadata: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name: 'x', ...metadata },
  ...(kind === 'Event' && {
    [apiVersion === 'v1' ? 'involvedObject' : 'regarding']: { namespace: 'n', name: 'a' },
    reason: 'R',
    ...(apiVersion !== 'v1' && {
      eventTime: '2026-01-01T00:00:00.000000Z',
      action: 'a',
      type: 'Normal',
      reportingController: 'e.com/c',
      reportingInstance: 'i',
    }),
  }),
  ...(kind.endsWith('Binding') && { roleRef: { apiGroup: rbac.split('/')[0], kind: 'ClusterRole', name: 'r' } }),
});

export interface JsonResponse {
  readonly status: number;
  readonly warnings: readonly string[];
  readonly body: ResponseBody;
}

interface ResponseBody {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly object[]; readonly retryAfterSeconds?: number };
  readonly metadata: {
    readonly name?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly object[];
    readonly finalizers?: readonly string[];
    readonly managedFields?: readonly {
      readonly manager: string;
      readonly apiVersion: string;
      readonly fieldsV1: Readonly<Record<string, unknown>>;
    }[];
  };
  readonly items?: readonly ResponseBody[];
  readonly [name: string]: unknown;
}

/** Sends a request and parses the response. */
export async function sendRequest(
  server: InMemoryServer,
  method: string,
  target: string,
  body?: object | string | Buffer,
  type?: string,
): Promise<JsonResponse> {
  const response = await server.request(
    method,
    target,
    typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body,
    type,
  );
  const warnings = warningsOf(response.headers);
  return { status: response.status, warnings, body: JSON.parse(textOf(response)) as ResponseBody };
}

export const warningsOf = ({ warning = [] }: ApiResponse['headers']): readonly string[] =>
  typeof warning === 'string' ? [warning] : warning;

export function textOf({ body }: ApiResponse): string {
  if (typeof body === 'string') return Buffer.from(bytesOf(body)).toString();
  if (Buffer.isBuffer(body)) return body.toString();
  if (body && 'pieces' in body)
    return Buffer.concat([...body.pieces(65_536, (bytes) => Buffer.alloc(bytes))]).toString();
  throw new TypeError('the response has no length');
}
