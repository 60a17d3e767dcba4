/** The admission policy examples of the Kubernetes documentation, by topic. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { defineKind, type Kind } from '@cluster-apiserver/model/kind';
import { jsonField, int32, list, object, type Schema, string } from '@cluster-apiserver/model/schema';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { openPolicyServer, type PolicyServer, registration } from './policy-server.ts';

const strings: Schema = { type: 'map', values: string };
const container = object(
  {
    name: jsonField(string, ''),
    image: jsonField(string, ''),
    args: jsonField(list(string, 'atomic'), ''),
    restartPolicy: jsonField(string, ''),
  },
  {},
);
const podSpec = object(
  {
    containers: jsonField(list(container, { keys: ['name'] }), ''),
    initContainers: jsonField(list(container, { keys: ['name'] }), ''),
  },
  {},
);
const template = object({ spec: jsonField(podSpec, '') });
const ofTemplate = object({ labels: jsonField(strings, '') });
const deploymentSpec = object(
  { replicas: jsonField(int32, ''), template: jsonField(template, ''), metadata: jsonField(ofTemplate, '') },
  {},
);

/** The parts of the kinds that the examples use. */
const kindOf = (group: string, kind: string, fields: Parameters<typeof defineKind>[0]['fields']): Kind =>
  defineKind({
    group,
    version: 'v1',
    kind,
    plural: `${kind.toLowerCase()}s`,
    singular: kind.toLowerCase(),
    description: '',
    fields,
    qualifiedFinalizers: false,
    ownsOthers: false,
    deletedAnswer: 'object',
  });
const moreKinds = [
  kindOf('apps', 'Deployment', { spec: jsonField(deploymentSpec, '') }),
  kindOf('', 'Pod', { spec: jsonField(podSpec, '') }),
  kindOf('rules.example.com', 'ReplicaLimit', { maxReplicas: jsonField(int32, '') }),
];

let server: PolicyServer;
beforeAll(async () => {
  server = await openPolicyServer({ moreKinds, authorizer: { authorize: () => ({ verdict: 'allow' }) } });
  for (const environment of ['test', 'prod'])
    await server.request('POST', '/api/v1/namespaces', { metadata: { name: environment, labels: { environment } } });
  for (const [namespace, maxReplicas] of [
    ['test', 3],
    ['prod', 100],
  ] as const)
    await server.request('POST', `/apis/rules.example.com/v1/namespaces/${namespace}/replicalimits`, {
      metadata: { name: 'replica-limit', labels: { kind: 'limit' } },
      maxReplicas,
    });
});
afterAll(async () => {
  expect(server.internalErrors).toEqual([]);
  await server.close();
});
let ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends) await end();
  ends = [];
  server.takeAnnotations();
});
const onDeployments = {
  matchConstraints: {
    resourceRules: [
      { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['deployments'] },
    ],
  },
};
const onPods = {
  matchConstraints: {
    resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
  },
};
const validate = async (spec: object, binding?: object): Promise<void> =>
  void ends.push(await server.enforce('validating', { ...onDeployments, ...spec }, binding));

const deploy = (namespace: string, spec: object, metadata: object = {}): Promise<JsonResponse> =>
  server.request('POST', `/apis/apps/v1/namespaces/${namespace}/deployments?dryRun=All`, {
    metadata: { name: 'web', ...metadata },
    spec,
  });
const summaryOf = ({ status, body }: JsonResponse): string =>
  status < 300 ? 'admitted' : `${body.reason}: ${(body.message ?? '').replace(/^.*?denied request: /s, '')}`;

describe('a limit of replicas', () => {
  test.each([
    ['test', 5, 'admitted'],
    ['test', 6, 'Invalid: failed expression: object.spec.replicas <= 5'],
    ['prod', 6, 'admitted'],
  ])('in %s: %i is %s', async (namespace, replicas, expected) => {
    await validate(
      { validations: [{ expression: 'object.spec.replicas <= 5' }] },
      { matchResources: { namespaceSelector: { matchLabels: { environment: 'test' } } } },
    );
    expect(summaryOf(await deploy(namespace, { replicas }))).toBe(expected);
  });

  const limit = {
    paramKind: { apiVersion: 'rules.example.com/v1', kind: 'ReplicaLimit' },
    validations: [
      {
        expression: 'object.spec.replicas <= params.maxReplicas',
        messageExpression: "'object.spec.replicas must be no greater than ' + string(params.maxReplicas)",
        reason: 'Invalid',
      },
    ],
  };
  test.each([
    [
      'by name, of the namespace',
      { name: 'replica-limit' },
      'test',
      4,
      'Invalid: object.spec.replicas must be no greater than 3',
    ],
    ['by name, of the namespace', { name: 'replica-limit' }, 'prod', 4, 'admitted'],
    [
      'by name, in one namespace for all',
      { name: 'replica-limit', namespace: 'test' },
      'prod',
      4,
      'Invalid: object.spec.replicas must be no greater than 3',
    ],
    [
      'by label',
      { selector: { matchLabels: { kind: 'limit' } } },
      'prod',
      101,
      'Invalid: object.spec.replicas must be no greater than 100',
    ],
  ])('as a parameter, %s: %j in %s, %i replicas', async (_, paramRef, namespace, replicas, expected) => {
    await validate(limit, { paramRef: { parameterNotFoundAction: 'Deny', ...paramRef } });
    expect(summaryOf(await deploy(namespace, { replicas }))).toBe(expected);
  });

  test('has null parameters by default', async () => {
    const validations = [
      { expression: 'params != null', message: 'params missing but required to bind to this policy' },
    ];
    await validate({ ...limit, validations });
    expect(summaryOf(await deploy('test', { replicas: 1 }))).toBe(
      'Invalid: params missing but required to bind to this policy',
    );
  });

  test.each([
    [50, 'admitted', []],
    [51, 'admitted', ['high-replica-count=Deployment spec.replicas set to 51']],
  ])('with an audit annotation: %i', async (replicas, expected, annotations) => {
    await validate(
      {
        failurePolicy: 'Fail',
        matchConditions: [{ name: 'many', expression: 'object.spec.replicas > 50' }],
        auditAnnotations: [
          {
            key: 'high-replica-count',
            valueExpression: "'Deployment spec.replicas set to ' + string(object.spec.replicas)",
          },
        ],
      },
      { validationActions: ['Audit'] },
    );
    expect(summaryOf(await deploy('test', { replicas }))).toBe(expected);
    expect(server.takeAnnotations().map((one) => one.replace(/^p\d+\//, ''))).toEqual(annotations);
  });
});

describe('variables', () => {
  test.each([
    [{ foo: 'bar' }, 'admitted'],
    [{ foo: 'x' }, "Invalid: failed expression: variables.foo == 'bar'"],
    [{ other: 'x' }, "Invalid: failed expression: variables.foo == 'bar'"],
  ])('with a default: %j', async (labels, expected) => {
    const expression = "'foo' in object.spec.metadata.labels ? object.spec.metadata.labels['foo'] : 'default'";
    await validate({
      variables: [{ name: 'foo', expression }],
      validations: [{ expression: "variables.foo == 'bar'" }],
    });
    expect(summaryOf(await deploy('test', { metadata: { labels } }))).toBe(expected);
  });

  test.each([
    ['test', 'test.example.com/nginx', {}, 'admitted'],
    ['test', 'prod.example.com/nginx', {}, 'Invalid: only test images are allowed in namespace test'],
    ['prod', 'prod.example.com/nginx', {}, 'admitted'],
    ['prod', 'docker.io/nginx', {}, 'admitted'],
    ['prod', 'test.example.com/nginx', { exempt: 'true' }, 'admitted'],
  ])('over the namespace: images of %s, %s with %j', async (namespace, image, labels, expected) => {
    const [environment, exempt] = ['environment', 'exempt'];
    await validate({
      variables: [
        {
          name: environment,
          expression:
            "'environment' in namespaceObject.metadata.labels ? namespaceObject.metadata.labels['environment'] : 'prod'",
        },
        {
          name: exempt,
          expression:
            "has(object.metadata.labels) && 'exempt' in object.metadata.labels && object.metadata.labels['exempt'] == 'true'",
        },
        { name: 'containers', expression: 'object.spec.template.spec.containers' },
        {
          name: 'containersToCheck',
          expression:
            "variables.containers.filter(c, c.image.contains('example.com/') && !(c.image.startsWith('example.com/')))",
        },
      ],
      validations: [
        {
          expression:
            "variables.exempt || variables.containersToCheck.all(c, c.image.startsWith(variables.environment + '.'))",
          messageExpression:
            "'only ' + variables.environment + ' images are allowed in namespace ' + namespaceObject.metadata.name",
        },
      ],
    });
    const containers = [{ name: 'a', image }];
    expect(summaryOf(await deploy(namespace, { template: { spec: { containers } } }, { labels }))).toBe(expected);
  });
});

test.each([
  ['web', 'alice', [], 'admitted'],
  [
    'demo',
    'alice',
    [],
    "Invalid: failed expression: !object.metadata.name.contains('demo') || object.metadata.namespace == 'demo'",
  ],
  ['demo', 'system:node:n', ['system:nodes'], 'admitted'],
])('match conditions by resource and user: %s by %s', async (name, user, groups, expected) => {
  await validate({
    matchConditions: [
      {
        name: 'exclude-leases',
        expression: '!(request.resource.group == "coordination.k8s.io" && request.resource.resource == "leases")',
      },
      { name: 'exclude-kubelet-requests', expression: '!("system:nodes" in request.userInfo.groups)' },
      { name: 'rbac', expression: 'request.resource.group != "rbac.authorization.k8s.io"' },
    ],
    validations: [{ expression: "!object.metadata.name.contains('demo') || object.metadata.namespace == 'demo'" }],
  });
  const before = server.user;
  server.user = { name: user, groups };
  const answer = await deploy('test', {}, { name });
  server.user = before;
  expect(summaryOf(answer)).toBe(expected);
});

test.each([
  'object.minReplicas <= object.replicas && object.replicas <= object.maxReplicas',
  "'Available' in object.stateCounts",
  '(size(object.list1) == 0) != (size(object.list2) == 0)',
  "!('MY_KEY' in object.map1) || object['MY_KEY'].matches('^[a-zA-Z]*$')",
  "object.envars.filter(e, e.name == 'MY_ENV').all(e, e.value.matches('^[a-zA-Z]*$'))",
  'has(object.expired) && object.created + object.ttl < object.expired',
  "object.health.startsWith('ok')",
  "object.widgets.exists(w, w.key == 'x' && w.foo < 10)",
  "type(object) == string ? object == '100%' : object == 1000",
  'object.metadata.name.startsWith(object.prefix)',
  'object.set1.all(e, !(e in object.set2))',
  'size(object.names) == size(object.details) && object.names.all(n, n in object.details)',
  'size(object.clusters.filter(c, c.name == object.primary)) == 1',
  "authorizer.group('').resource('pods').namespace('default').check('create').allowed()",
  "authorizer.serviceAccount('default', 'myserviceaccount').resource('deployments').check('delete').allowed()",
  "authorizer.path('/healthz').check('get').allowed()",
  "authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend').check('create').reason() == ''",
  'oldObject == null || object.spec.replicas >= oldObject.spec.replicas',
])('the expression %s is accepted', async (expression) => {
  const isUnknown = expression.includes('serviceAccount'); // kept as published: a resource without a group
  const body = { metadata: { name: 'taken' }, spec: { ...onDeployments, validations: [{ expression }] } };
  const { status } = await server.request('POST', `${registration}/validatingadmissionpolicies?dryRun=All`, body);
  expect(status).toBe(isUnknown ? 422 : 201);
});

describe('a sidecar', () => {
  const proxy = { name: 'mesh-proxy', image: 'mesh/proxy:v1.0.0', args: ['proxy', 'sidecar'], restartPolicy: 'Always' };
  const made =
    'Object.spec.initContainers{name: "mesh-proxy", image: "mesh/proxy:v1.0.0", args: ["proxy", "sidecar"], restartPolicy: "Always"}';
  const matchConditions = [
    {
      name: 'does-not-already-have-sidecar',
      expression: '!has(object.spec.initContainers) || !object.spec.initContainers.exists(ic, ic.name == "mesh-proxy")',
    },
  ];
  const create = async (spec: object): Promise<unknown> => {
    const path = '/api/v1/namespaces/test/pods?dryRun=All';
    return (await server.request('POST', path, { metadata: { name: 'p' }, spec })).body['spec'];
  };

  test.each<[string, object, object]>([
    ['is added', { initContainers: [{ name: 'a' }] }, { initContainers: [{ name: 'a' }, proxy] }],
    [
      'is not added twice',
      { initContainers: [{ name: 'mesh-proxy', image: 'own' }] },
      { initContainers: [{ name: 'mesh-proxy', image: 'own' }] },
    ],
  ])('by JSON patch %s', async (_, spec, expected) => {
    const expression = `[JSONPatch{op: "add", path: "/spec/initContainers/-", value: ${made}}]`;
    const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression } }];
    ends.push(
      await server.enforce('mutating', { ...onPods, matchConditions, mutations, reinvocationPolicy: 'IfNeeded' }),
    );
    expect(await create(spec)).toEqual(expected);
  });

  test('by apply configuration requires lists that are not atomic', async () => {
    const expression = `Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "mesh-proxy", image: "mesh/proxy:v1.0.0", restartPolicy: "Always"}]}}`;
    const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }];
    ends.push(
      await server.enforce('mutating', { ...onPods, matchConditions, mutations, reinvocationPolicy: 'IfNeeded' }),
    );
    const { args: _, ...withoutArgs } = proxy;
    expect(await create({ initContainers: [{ name: 'a' }] })).toEqual({ initContainers: [{ name: 'a' }, withoutArgs] });
    expect(await create({})).toEqual({ initContainers: [withoutArgs] });
  });
});

test('a label is added even to an object without labels', async () => {
  const expression = `(!has(object.metadata.labels) ? [JSONPatch{op: "add", path: "/metadata/labels", value: {}}] : []) + [JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("example.com/environment"), value: "test"}]`;
  const mutations = [{ patchType: 'JSONPatch', jsonPatch: { expression } }];
  ends.push(await server.enforce('mutating', { ...onPods, mutations }));
  const { body } = await server.request('POST', '/api/v1/namespaces/test/pods?dryRun=All', { metadata: { name: 'p' } });
  expect(body.metadata.labels).toEqual({ 'example.com/environment': 'test' });
});

/** The same examples with the kinds of this server. */
describe('on service accounts, events, namespaces and roles', () => {
  const rule = (resources: string, operations = ['CREATE'], apiGroups = ['']): object => ({
    matchConstraints: { resourceRules: [{ apiGroups, apiVersions: ['v1'], operations, resources: [resources] }] },
  });
  const namespace = '/api/v1/namespaces/test';
  const accounts = `${namespace}/serviceaccounts`;
  const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
  const event = (count: number): object => ({
    metadata: { name: 'e', namespace: 'test' },
    involvedObject: { kind: 'Pod', namespace: 'test', name: 'p' },
    count,
  });
  const labeled = (labels: object): object => ({ metadata: { name: 'web-1', labels } });

  test.each<[string, object, string, object, string]>([
    [
      'required labels',
      { ...rule('serviceaccounts'), validations: [{ expression: "'team' in object.metadata.?labels.orValue({})" }] },
      accounts,
      labeled({ app: 'web' }),
      "Invalid: failed expression: 'team' in object.metadata.?labels.orValue({})",
    ],
    [
      'required labels that are present',
      { ...rule('serviceaccounts'), validations: [{ expression: "'team' in object.metadata.?labels.orValue({})" }] },
      accounts,
      labeled({ team: 'web' }),
      'admitted',
    ],
    [
      'a pattern of names',
      {
        ...rule('serviceaccounts'),
        validations: [
          {
            expression: "object.metadata.name.matches('^(web|db)-[a-z]+$')",
            messageExpression: "'name ' + object.metadata.name + ' does not follow the pattern'",
            reason: 'Forbidden',
          },
        ],
      },
      accounts,
      labeled({}),
      'Forbidden: name web-1 does not follow the pattern',
    ],
    [
      'a limit of a number',
      { ...rule('events'), validations: [{ expression: 'object.count <= 10', message: 'too many' }] },
      `${namespace}/events`,
      event(11),
      'Invalid: too many',
    ],
    [
      'a number within its limit',
      { ...rule('events'), validations: [{ expression: 'object.count <= 10', message: 'too many' }] },
      `${namespace}/events`,
      event(10),
      'admitted',
    ],
    [
      'roles without wildcards',
      {
        ...rule('clusterroles', ['CREATE', 'UPDATE'], ['rbac.authorization.k8s.io']),
        validations: [{ expression: "object.rules.all(r, !('*' in r.verbs))", message: 'no wildcards' }],
      },
      roles,
      { metadata: { name: 'all' }, rules: [{ apiGroups: [''], resources: ['events'], verbs: ['get', '*'] }] },
      'Invalid: no wildcards',
    ],
    [
      'a permission of the user in another namespace',
      {
        ...rule('serviceaccounts'),
        validations: [
          {
            expression: "authorizer.group('').resource('secrets').namespace('test').check('get').allowed()",
            message: 'needs secrets',
          },
        ],
      },
      accounts,
      labeled({}),
      'admitted',
    ],
    [
      'a break-glass user',
      {
        ...rule('serviceaccounts'),
        matchConditions: [
          {
            name: 'breakglass',
            expression:
              "!authorizer.group('admissionregistration.k8s.io').resource('validatingadmissionpolicies').name('strict').check('breakglass').allowed()",
          },
        ],
        validations: [{ expression: 'false' }],
      },
      accounts,
      labeled({}),
      'admitted',
    ],
  ])('%s', async (_, spec, path, object, expected) => {
    await validate(spec);
    expect(summaryOf(await server.request('POST', `${path}?dryRun=All`, object))).toBe(expected);
  });

  test('a policy can make fields immutable, and forbid the deletion of objects', async () => {
    await server.request('POST', accounts, { metadata: { name: 'fixed' }, automountServiceAccountToken: false });
    await validate({
      ...rule('serviceaccounts', ['UPDATE', 'DELETE']),
      validations: [
        {
          expression:
            "request.operation == 'DELETE' || object.automountServiceAccountToken == oldObject.automountServiceAccountToken",
          message: 'immutable',
        },
        { expression: "request.operation != 'DELETE' || oldObject.metadata.name != 'fixed'", message: 'stays' },
      ],
    });
    const change = { automountServiceAccountToken: true };
    const patched = await server.request('PATCH', `${accounts}/fixed`, change, 'application/merge-patch+json');
    expect(summaryOf(patched)).toBe('Invalid: immutable');
    expect(summaryOf(await server.request('DELETE', `${accounts}/fixed`))).toBe('Invalid: stays');
  });

  test.each<[string[], string, number, number]>([
    [['Warn'], 'admitted', 1, 0],
    [['Audit'], 'admitted', 0, 1],
    [['Warn', 'Audit'], 'admitted', 1, 1],
    [['Deny', 'Audit'], 'Invalid: no label', 0, 1],
  ])(
    'a trial of actions: %j is %s, with %i warnings and %i annotations',
    async (validationActions, expected, warned, annotated) => {
      const validations = [{ expression: 'has(object.metadata.labels)', message: 'no label' }];
      await validate({ ...rule('serviceaccounts'), validations }, { validationActions });
      const answer = await server.request('POST', `${accounts}?dryRun=All`, { metadata: { name: 'a' } });
      expect(summaryOf(answer)).toBe(expected);
      expect([answer.warnings.length, server.takeAnnotations().length]).toEqual([warned, annotated]);
    },
  );
});
