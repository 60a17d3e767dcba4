/** A valid body for every route that accepts one, by group and resource, also of a custom kind. */

import { certificateRequest } from '../certificate-request.ts';

interface Place {
  readonly namespace: string;
  readonly name: string;
}

type Sample = (place: Place) => object;

const events = { apiGroups: [''], resources: ['events'] };
const rule = { ...events, verbs: ['get'] };
const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
const resourceAttributes = { namespace: 'n', verb: 'list', resource: 'events' };
const event = { reason: 'R', action: 'a', type: 'Normal', eventTime: '2026-01-01T00:00:00.000000Z' };

const written = { ...events, apiVersions: ['v1'], operations: ['CREATE'], scope: '*' };
// With its defaults: the map is atomic, so an applied one without them conflicts.
const matchConstraints = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  resourceRules: [written],
};
const webhook = {
  name: 'a.example.com',
  clientConfig: { url: 'https://a.example.com/' },
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
  rules: [written],
};
const mutation = {
  patchType: 'JSONPatch',
  jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/metadata/labels"}]' },
};

/** The name is that of the resource and its group. */
function definitionOf({ name }: Place): object {
  const [plural = '', ...group] = name.split('.');
  const schema = { openAPIV3Schema: { type: 'object' } };
  return {
    group: group.join('.'),
    scope: 'Cluster',
    names: { plural, kind: plural.toUpperCase() },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  };
}

const metadata = ({ name }: Place): object => ({ metadata: { name } });

export const samples: Readonly<Record<string, Sample>> = {
  '/serviceaccounts': metadata,
  '/serviceaccounts/token': () => ({ spec: {} }),
  '/namespaces': metadata,
  '/configmaps': (place) => ({ ...metadata(place), data: { a: '1' } }),
  '/secrets': (place) => ({ ...metadata(place), data: { a: 'MQ==' } }),
  '/limitranges': (place) => ({ ...metadata(place), spec: { limits: [] } }),
  '/resourcequotas': (place) => ({ ...metadata(place), spec: { hard: { 'count/configmaps': '1' } } }),
  'apiextensions.k8s.io/customresourcedefinitions': (place) => ({ ...metadata(place), spec: definitionOf(place) }),
  'apps/controllerrevisions': (place) => ({ ...metadata(place), data: {}, revision: 1 }),
  'flowcontrol.apiserver.k8s.io/flowschemas': (place) => ({
    ...metadata(place),
    spec: { priorityLevelConfiguration: { name: 'global-default' }, matchingPrecedence: 500 },
  }),
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': (place) => ({
    ...metadata(place),
    spec: { type: 'Limited', limited: { limitResponse: { type: 'Reject' } } },
  }),
  'coordination.k8s.io/leases': (place) => ({ ...metadata(place), spec: { holderIdentity: 'a' } }),
  'certificates.k8s.io/certificatesigningrequests': (place) => ({
    ...metadata(place),
    spec: { request: certificateRequest, signerName: 'example.com/signer', usages: ['client auth'] },
  }),
  '/events': (place) => ({
    ...metadata(place),
    involvedObject: { namespace: place.namespace, name: 'a' },
    reason: 'R',
  }),
  'events.k8s.io/events': (place) => ({
    ...metadata(place),
    ...event,
    regarding: { namespace: place.namespace, name: 'a' },
    reportingController: 'e.com/c',
    reportingInstance: 'i',
  }),
  'rbac.authorization.k8s.io/roles': (place) => ({ ...metadata(place), rules: [rule] }),
  'rbac.authorization.k8s.io/clusterroles': (place) => ({ ...metadata(place), rules: [rule] }),
  'rbac.authorization.k8s.io/rolebindings': (place) => ({ ...metadata(place), roleRef, subjects: [] }),
  'rbac.authorization.k8s.io/clusterrolebindings': (place) => ({ ...metadata(place), roleRef, subjects: [] }),
  'admissionregistration.k8s.io/mutatingadmissionpolicies': (place) => ({
    ...metadata(place),
    spec: { matchConstraints, mutations: [mutation], reinvocationPolicy: 'Never' },
  }),
  'admissionregistration.k8s.io/mutatingadmissionpolicybindings': (place) => ({
    ...metadata(place),
    spec: { policyName: 'a' },
  }),
  'admissionregistration.k8s.io/mutatingwebhookconfigurations': (place) => ({
    ...metadata(place),
    webhooks: [webhook],
  }),
  'admissionregistration.k8s.io/validatingadmissionpolicies': (place) => ({
    ...metadata(place),
    spec: { matchConstraints, validations: [{ expression: 'true' }] },
  }),
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': (place) => ({
    ...metadata(place),
    spec: { policyName: 'a', validationActions: ['Deny'] },
  }),
  'admissionregistration.k8s.io/validatingwebhookconfigurations': (place) => ({
    ...metadata(place),
    webhooks: [webhook],
  }),
  'workshop.example/lamps': (place) => ({
    apiVersion: 'workshop.example/v1',
    kind: 'Lamp',
    ...metadata(place),
    spec: { color: 'white', watts: 40, bulbs: 1 },
  }),
  'authentication.k8s.io/tokenreviews': () => ({ spec: { token: 'x' } }),
  'authentication.k8s.io/selfsubjectreviews': () => ({}),
  'authorization.k8s.io/selfsubjectaccessreviews': () => ({ spec: { resourceAttributes } }),
  'authorization.k8s.io/selfsubjectrulesreviews': () => ({ spec: { namespace: 'n' } }),
  'authorization.k8s.io/subjectaccessreviews': () => ({ spec: { user: 'bob', resourceAttributes } }),
  'authorization.k8s.io/localsubjectaccessreviews': ({ namespace }) => ({
    spec: { user: 'bob', resourceAttributes: { ...resourceAttributes, namespace } },
  }),
};

/** `resource` is its group, its plural and perhaps a subresource: `/serviceaccounts/token`. */
export function sampleOf(resource: string, place: Place): object {
  const sample = samples[resource];
  if (!sample) throw new Error(`${resource} has no sample: add one to packages/tests/test/authorization/samples.ts`);
  return sample(place);
}
