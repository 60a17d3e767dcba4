import { requireValue } from '@cluster-apiserver/base';
import { kinds } from '@cluster-apiserver/kinds';
import { bytesOf } from '@cluster-apiserver/model/codec';
import type { ApiVersion } from '@cluster-apiserver/model/kind';
import type { ApiResponse } from '@cluster-apiserver/pipeline';
import { certificateRequest } from '../certificate-request.ts';
import type { InMemoryServer } from '../serve-in-memory.ts';

const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'r' };
const rule = { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodes'], scope: '*' };
const webhooks = [
  {
    name: 'a.example.com',
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    clientConfig: { url: 'https://a.example/b' },
    rules: [rule],
  },
];
// With its defaults: the map is atomic, so an applied one without them conflicts.
const matchConstraints = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  resourceRules: [rule],
};
const mutation = {
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression: 'Object{metadata: Object.metadata{labels: {"a": "b"}}}' },
};

/** The fields that a valid object needs besides its metadata. A new kind adds its own. */
const fieldsOf: Readonly<Record<string, object>> = {
  'v1 ServiceAccount': {},
  'v1 Namespace': {},
  'v1 Event': { involvedObject: { namespace: 'n', name: 'a' }, reason: 'R' },
  'events.k8s.io/v1 Event': {
    regarding: { namespace: 'n', name: 'a' },
    reason: 'R',
    eventTime: '2026-01-01T00:00:00.000000Z',
    action: 'a',
    type: 'Normal',
    reportingController: 'e.com/c',
    reportingInstance: 'i',
  },
  'v1 ConfigMap': { data: { a: '1' } },
  'v1 Secret': { data: { a: 'MQ==' }, type: 'Opaque' },
  'v1 LimitRange': { spec: { limits: [{ type: 'Pod', max: { cpu: '1' } }] } },
  'v1 ResourceQuota': { spec: { hard: { 'count/configmaps': '1' } } },
  'apps/v1 ControllerRevision': { data: {}, revision: 1 },
  'coordination.k8s.io/v1 Lease': { spec: { holderIdentity: 'a' } },
  'certificates.k8s.io/v1 CertificateSigningRequest': {
    spec: { request: certificateRequest, signerName: 'example.com/signer', usages: ['client auth'] },
  },
  'rbac.authorization.k8s.io/v1 Role': {},
  'rbac.authorization.k8s.io/v1 RoleBinding': { roleRef },
  'rbac.authorization.k8s.io/v1 ClusterRole': {},
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': { roleRef },
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration': { webhooks },
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration': { webhooks },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy': {
    spec: { matchConstraints, validations: [{ expression: 'true' }] },
  },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding': {
    spec: { policyName: 'a', validationActions: ['Deny'] },
  },
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicy': {
    spec: { matchConstraints, mutations: [mutation], reinvocationPolicy: 'Never' },
  },
  'admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding': { spec: { policyName: 'a' } },
};

export interface ServedResource {
  readonly path: string;
  /** The storage prefix. */
  readonly key: string;
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly fields: object;
  /** Namespaces have no deletecollection, and stay until they are empty. */
  readonly hasDeleteCollection: boolean;
  /** The paths that read and write the object itself, below its own. */
  readonly parts: readonly string[];
}

/**
 * All resources whose objects are stored; each test runs on all of them. The name of a definition says what it defines, so it
 * has tests of its own.
 */
export const servedResources: readonly ServedResource[] = kinds({ eventLifetimeSeconds: 3_600 })
  .filter(({ kind }) => kind !== 'CustomResourceDefinition')
  .flatMap(({ versions }) => versions)
  .map(toResource);

function toResource({
  apiVersion,
  kind,
  plural,
  singular,
  namespaced,
  verbs,
  fieldSubresources,
}: ApiVersion): ServedResource {
  const within = namespaced ? 'namespaces/n/' : '';
  return {
    path: `${apiVersion === 'v1' ? '/api' : '/apis'}/${apiVersion}/${within}${plural}`,
    key: `/registry/${plural}${namespaced ? '/n' : ''}`,
    apiVersion,
    kind,
    plural,
    singular,
    fields: requireValue(fieldsOf[`${apiVersion} ${kind}`], `${kind} needs fields of a valid object`),
    hasDeleteCollection: verbs.includes('deletecollection'),
    parts: fieldSubresources.map(({ name }) => name),
  };
}

/** Without a version the first one, in which objects are stored. */
export const resourceOf = (kind: string, apiVersion?: string): ServedResource =>
  requireValue(
    servedResources.find((place) => place.kind === kind && place.apiVersion === (apiVersion ?? place.apiVersion)),
    `${kind} is not served`,
  );

/** A valid object of the resource. */
export const validObject = ({ apiVersion, kind, fields }: ServedResource, metadata: object = {}): object => ({
  apiVersion,
  kind,
  metadata: { name: 'x', ...metadata },
  ...fields,
});

export interface JsonResponse {
  readonly status: number;
  readonly warnings: readonly string[];
  readonly body: ResponseBody;
}

export interface ResponseBody {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly object[]; readonly retryAfterSeconds?: number };
  readonly metadata: {
    readonly name?: string;
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
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
  // A list that is joined at once, in one piece.
  const piece = body?.next(1_000_000, (bytes) => Buffer.alloc(bytes));
  if (Buffer.isBuffer(piece)) return piece.toString();
  throw new TypeError('the response has no length');
}
