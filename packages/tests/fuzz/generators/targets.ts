import type { Random } from '@cluster-apiserver/base';
import { lampDefinition } from '../../test/custom-sample.ts';
import { choose } from '../../test/hostile/choose.ts';

/** Namespaces of fuzzed objects, without the well-behaved client's. */
export const fuzzNamespaces = ['hostile', 'hostile-2', 'default'] as const;

/** A request that the server accepts, with a valid body. */
export interface BodyTarget {
  readonly methods: readonly string[];
  path(namespace: string, name: string): string;
  body(name: string, random: Random): object;
}

const metadata = (name: string, random: Random): object => ({
  ...(random.below(4) === 0 ? { generateName: 'made-' } : { name }),
  labels: { app: 'fuzz', 'a.b/c': 'd' },
  annotations: { note: 'x' },
  finalizers: random.below(8) === 0 ? ['fuzz.example/one'] : [],
  ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: '5f0c', controller: true }],
  managedFields: [
    {
      ...{ manager: 'm', operation: 'Update', apiVersion: 'v1', time: '2026-01-01T00:00:00Z', fieldsType: 'FieldsV1' },
      fieldsV1: { 'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} }, 'f:finalizers': { 'v:"a.b/c"': {} } } },
    },
  ],
});

const collection = (group: string, plural: string) => (namespace: string) =>
  `/${group}/namespaces/${namespace}/${plural}`;
const object = (group: string, plural: string) => (namespace: string, name: string) =>
  `${collection(group, plural)(namespace)}/${name}`;

const serviceAccount: BodyTarget['body'] = (name, random) => ({
  ...{ apiVersion: 'v1', kind: 'ServiceAccount', metadata: metadata(name, random) },
  ...{ secrets: [{ name: 's-1' }, { name: 's-2' }], imagePullSecrets: [{ name: 'p' }] },
  automountServiceAccountToken: true,
});

const involved = { apiVersion: 'v1', kind: 'Pod', namespace: 'hostile', name: 'p', uid: 'u', fieldPath: 'spec' };
const event: BodyTarget['body'] = (name, random) => ({
  ...{ apiVersion: 'v1', kind: 'Event', metadata: metadata(name, random), involvedObject: involved },
  ...{ reason: 'Started', message: 'text', type: 'Normal', count: 3, source: { component: 'c', host: 'h' } },
  ...{ firstTimestamp: '2026-01-01T00:00:00Z', lastTimestamp: '2026-01-02T00:00:00Z' },
});
const newEvent: BodyTarget['body'] = (name, random) => ({
  ...{ apiVersion: 'events.k8s.io/v1', kind: 'Event', metadata: metadata(name, random), regarding: involved },
  ...{ eventTime: '2026-01-01T00:00:00.000000Z', reason: 'Started', action: 'Start', type: 'Normal', note: 'text' },
  ...{ reportingController: 'a.b/c', reportingInstance: 'i' },
  series: { count: 2, lastObservedTime: '2026-01-01T00:00:01.000000Z' },
});
const rbac = 'rbac.authorization.k8s.io';
const role: BodyTarget['body'] = (name, random) => ({
  ...{ apiVersion: `${rbac}/v1`, kind: 'Role', metadata: metadata(name, random) },
  rules: [{ apiGroups: ['', '*'], resources: ['events', '*/status'], resourceNames: ['a', ''], verbs: ['get', '*'] }],
});
const clusterRole: BodyTarget['body'] = (name, random) => ({
  ...{ apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: metadata(name, random) },
  rules: [{ nonResourceURLs: ['/metrics', '/livez/*'], verbs: ['get'] }],
  aggregationRule: {
    clusterRoleSelectors: [
      { matchLabels: { 'a.b/c': 'd' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b', 'c'] }] },
    ],
  },
});
const binding =
  (kind: string): BodyTarget['body'] =>
  (name, random) => ({
    ...{ apiVersion: `${rbac}/v1`, kind, metadata: metadata(name, random) },
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'n0' },
    subjects: [
      { apiGroup: rbac, kind: 'User', name: 'u' },
      { kind: 'ServiceAccount', name: 'a', namespace: 'hostile' },
    ],
  });
const clusterObject = (plural: string) => (_namespace: string, name: string) => `/apis/${rbac}/v1/${plural}/${name}`;

const lamp: BodyTarget['body'] = (name, random) => ({
  ...{ apiVersion: 'workshop.example/v1', kind: 'Lamp', metadata: metadata(name, random) },
  spec: { color: 'red', watts: random.below(100), bulbs: random.below(3) },
  status: { bulbs: 1 },
});

/** Of kinds that are defined, changed and removed while the others are used. They have no objects. */
const definition: BodyTarget['body'] = (name, random) => {
  const { spec } = structuredClone(lampDefinition);
  const [version] = spec.versions;
  const plural = `${name}s`;
  const schema = choose<object>(random, [
    version.schema.openAPIV3Schema,
    { type: 'object', properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } } },
    {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            list: { type: 'array', items: { type: 'string', pattern: '^a+$' }, 'x-kubernetes-list-type': 'set' },
            port: { 'x-kubernetes-int-or-string': true },
            some: { type: 'object', additionalProperties: { type: 'number', minimum: 0, default: 1 }, default: {} },
          },
          'x-kubernetes-validations': [
            { rule: "!has(self.list) || self.list.all(e, e != 'b')", messageExpression: "'no ' + string(1)" },
          ],
        },
      },
    },
  ]);
  return {
    ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
    metadata: { name: `${plural}.fuzz.example`, labels: { app: 'fuzz' } },
    spec: {
      ...spec,
      group: 'fuzz.example',
      names: { plural, singular: name, kind: name.toUpperCase(), listKind: `${name.toUpperCase()}List` },
      versions: [
        { ...version, schema: { openAPIV3Schema: schema }, selectableFields: [], subresources: { status: {} } },
      ],
    },
  };
};
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const deleteOptions: BodyTarget['body'] = () => ({
  ...{ apiVersion: 'v1', kind: 'DeleteOptions', gracePeriodSeconds: 0, propagationPolicy: 'Background' },
  ...{ preconditions: { uid: 'u', resourceVersion: '1' }, dryRun: ['All'] },
});
const attributes = { namespace: 'hostile', verb: 'get', group: '', version: 'v1', resource: 'pods', name: 'n' };
const selectors = {
  labelSelector: { requirements: [{ key: 'a', operator: 'In', values: ['b'] }] },
  fieldSelector: { requirements: [{ key: 'metadata.name', operator: 'In', values: ['b'] }] },
};

const review =
  (group: string, kind: string, spec: object): BodyTarget['body'] =>
  () => ({ apiVersion: `${group}/v1`, kind, spec });
const authentication = 'authentication.k8s.io';
const authorization = 'authorization.k8s.io';
const reviews = {
  selfsubjectreviews: review(authentication, 'SelfSubjectReview', {}),
  tokenreviews: review(authentication, 'TokenReview', { token: 'a.b.c', audiences: ['x'] }),
  selfsubjectaccessreviews: review(authorization, 'SelfSubjectAccessReview', {
    resourceAttributes: { ...attributes, ...selectors },
  }),
  selfsubjectrulesreviews: review(authorization, 'SelfSubjectRulesReview', { namespace: 'hostile' }),
  subjectaccessreviews: review(authorization, 'SubjectAccessReview', {
    ...{ user: 'u', groups: ['g'], extra: { a: ['b'] }, uid: 'i' },
    nonResourceAttributes: { path: '/livez', verb: 'get' },
  }),
};

export const bodyTargets: readonly BodyTarget[] = [
  ...[serviceAccount, serviceAccount, serviceAccount].map((body) => ({
    methods: ['POST'],
    path: collection('api/v1', 'serviceaccounts'),
    body,
  })),
  { methods: ['PUT'], path: object('api/v1', 'serviceaccounts'), body: serviceAccount },
  { methods: ['POST'], path: collection('api/v1', 'events'), body: event },
  { methods: ['PUT'], path: object('api/v1', 'events'), body: event },
  { methods: ['POST'], path: collection('apis/events.k8s.io/v1', 'events'), body: newEvent },
  { methods: ['PUT'], path: object('apis/events.k8s.io/v1', 'events'), body: newEvent },
  { methods: ['POST'], path: collection(`apis/${rbac}/v1`, 'roles'), body: role },
  { methods: ['PUT'], path: object(`apis/${rbac}/v1`, 'roles'), body: role },
  { methods: ['PUT'], path: object(`apis/${rbac}/v1`, 'rolebindings'), body: binding('RoleBinding') },
  { methods: ['POST'], path: collection('apis/workshop.example/v1', 'lamps'), body: lamp },
  { methods: ['PUT'], path: object('apis/workshop.example/v1', 'lamps'), body: lamp },
  {
    methods: ['PUT'],
    path: (...place) => `${object('apis/workshop.example/v1', 'lamps')(...place)}/status`,
    body: lamp,
  },
  { methods: ['POST'], path: () => definitions, body: definition },
  { methods: ['PUT'], path: (_, name) => `${definitions}/${name}s.fuzz.example`, body: definition },
  // Cluster-scoped objects outlive their namespace, so they have only a few names.
  { methods: ['PUT'], path: clusterObject('clusterroles'), body: clusterRole },
  { methods: ['PUT'], path: clusterObject('clusterrolebindings'), body: binding('ClusterRoleBinding') },
  {
    methods: ['POST'],
    path: () => '/api/v1/namespaces',
    // A few names, because every namespace would stay.
    body: (name, random) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { labels: { a: 'b' }, name, ...(random.below(4) === 0 && { annotations: { a: 'b' } }) },
    }),
  },
  {
    methods: ['POST'],
    path: (namespace, name) => `${object('api/v1', 'serviceaccounts')(namespace, name)}/token`,
    body: () => ({
      ...{ apiVersion: `${authentication}/v1`, kind: 'TokenRequest' },
      spec: {
        audiences: ['a'],
        expirationSeconds: 3_600,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' },
      },
    }),
  },
  { methods: ['DELETE'], path: object('api/v1', 'serviceaccounts'), body: deleteOptions },
  { methods: ['DELETE'], path: collection('api/v1', 'events'), body: deleteOptions },
  ...Object.entries(reviews).map(([plural, body]) => ({
    methods: ['POST'],
    path: () =>
      `/apis/${plural.includes('access') || plural.includes('rules') ? authorization : authentication}/v1/${plural}`,
    body,
  })),
];

export const objectNames = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5'] as const;

const collections = [
  'api/v1|serviceaccounts',
  'api/v1|events',
  'apis/events.k8s.io/v1|events',
  `apis/${rbac}/v1|roles`,
  `apis/${rbac}/v1|rolebindings`,
  'apis/workshop.example/v1|lamps',
].map((text) => {
  const [group = '', plural = ''] = text.split('|');
  return { group, plural };
});

export function collectionPath(random: Random): string {
  const { group, plural } = choose(random, collections);
  return random.below(4) === 0 ? `/${group}/${plural}` : collection(group, plural)(choose(random, fuzzNamespaces));
}

export function objectPath(random: Random): string {
  const { group, plural } = choose(random, collections);
  return object(group, plural)(choose(random, fuzzNamespaces), choose(random, objectNames));
}
