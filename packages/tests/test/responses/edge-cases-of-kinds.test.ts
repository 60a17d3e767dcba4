/** Edge cases of single kinds and of the status, in which the server once responded differently from kube-apiserver. */
import { describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { declaredResources, resourceOf, type ServedResource, validObject } from './resources.ts';
import { atVersionOf, currentVersion, patchTypes, useServer } from './use-server.ts';

const served = useServer();
const { send, create } = served;
const { json, merge, strategic, apply } = patchTypes;

/** A valid status, where it is not that of a kind with a generation. */
const statusOf: Readonly<Record<string, object>> = {
  CertificateSigningRequest: {},
  FlowSchema: {},
  Namespace: { phase: 'Active' },
  PriorityLevelConfiguration: {},
  ResourceQuota: { hard: { pods: '1' } },
};

const versioned = { name: 'x', resourceVersion: currentVersion };

const parts = declaredResources.flatMap((place) => place.parts.map((part) => ({ ...place, part })));

describe.each(parts.filter(({ part }) => part === 'status'))('$apiVersion $kind/$part', (place) => {
  const one = `${place.path}/x`;
  const status = statusOf[place.kind] ?? { observedGeneration: 1 };

  test.each<[string, object, string]>([
    ['that omits the kind', { kind: null, status }, merge],
    ['that omits the version', { apiVersion: null, status }, strategic],
    ['that replaces the whole object', { $patch: 'replace', metadata: versioned, status }, strategic],
    [
      'that removes the kind',
      [
        { op: 'remove', path: '/kind' },
        { op: 'add', path: '/status', value: status },
      ],
      json,
    ],
    ['that replaces the document', [{ op: 'replace', path: '', value: { metadata: versioned, status } }], json],
  ])('a patch %s keeps the kind and the other fields: %j', async (_, patch, type) => {
    const { body: created } = await create(place);
    const { status: code, body } = await send('PATCH', `${one}/${place.part}`, atVersionOf(created, patch), type);
    expect([code, body['kind'], body['apiVersion'], body['spec']]).toEqual([
      200,
      place.kind,
      place.apiVersion,
      created['spec'],
    ]);
    expect(body['status']).toMatchObject(status);
  });

  test.each<[object, string, number]>([
    [{ kind: 'Other' }, merge, 422],
    [{ metadata: { name: null } }, merge, 400],
    [{ $patch: 'delete' }, strategic, 400],
    [[{ op: 'remove', path: '/metadata/name' }], json, 400],
    [{ metadata: { '$setElementOrder/labels': ['a'] } }, strategic, 400],
  ])('a patch that changes the kind or removes the name is rejected: %j', async (patch, type, code) => {
    await create(place);
    expect((await send('PATCH', `${one}/${place.part}`, patch, type)).status).toBe(code);
  });
});

/** In kube-apiserver the group of a kind decides by which of two rules its finalizers are validated; of events, that of the version. */
test('finalizers need a domain, except those of these kinds', async () => {
  const free: string[] = [];
  for (const place of declaredResources) {
    const { status, body } = await send(
      'POST',
      place.path,
      validObject(place, { name: place.apiVersion.replace('/', '.'), finalizers: ['plain'] }),
    );
    if (status === 201) free.push(place.kind);
    else expect([place.kind, body.message]).toEqual([place.kind, expect.stringContaining('standard finalizer name')]);
  }
  expect(free.toSorted()).toEqual([
    'Event',
    'Lease',
    'MutatingAdmissionPolicy',
    'MutatingAdmissionPolicyBinding',
    'MutatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'ValidatingWebhookConfiguration',
  ]);
});

test('the status of a policy is written without its metadata', async () => {
  const policies = resourceOf('ValidatingAdmissionPolicy');
  const target = `${policies.path}/x/status`;
  const { body: created } = await create(policies, { labels: { a: 'b' } });
  const metadata = {
    labels: { c: 'd' },
    annotations: { e: 'f' },
    finalizers: ['a.b/c'],
    ownerReferences: [{ apiVersion: 'v1', kind: 'Thing', name: 'o', uid: 'u' }],
  };
  const status = { observedGeneration: 1 };
  const applied = { apiVersion: policies.apiVersion, kind: policies.kind, metadata: { name: 'x', ...metadata } };
  const { resourceVersion } = created.metadata;
  const put = await send('PUT', target, { ...created, metadata: { name: 'x', resourceVersion, ...metadata }, status });
  const patched = await send('PATCH', target, { metadata: { ...metadata, labels: null } }, merge);
  const answers = [
    put,
    patched,
    await send(
      'PATCH',
      target,
      atVersionOf(patched.body, { $patch: 'replace', metadata: versioned, status }),
      strategic,
    ),
    await send('PATCH', `${target}?fieldManager=m`, { ...applied, status }, apply),
  ];
  for (const { status: code, body } of answers) {
    expect([code, body['status']]).toEqual([200, status]);
    const { labels, annotations, finalizers, ownerReferences, managedFields } = body.metadata;
    expect({ labels, annotations, finalizers, ownerReferences }).toEqual({ labels: { a: 'b' } });
    const owners = managedFields?.filter(({ fieldsV1 }) => Object.hasOwn(fieldsV1, 'f:metadata'));
    expect(owners).toEqual([expect.not.objectContaining({ subresource: 'status' })]);
  }
});

describe('conditions in the status of a policy', () => {
  const policies = resourceOf('ValidatingAdmissionPolicy');
  const condition = { type: 'Ready', status: 'True', reason: 'A:b,C', lastTransitionTime: '2026-01-01T00:00:00Z' };
  const patch = (...conditions: object[]): Promise<JsonResponse> =>
    send('PATCH', `${policies.path}/x/status`, { status: { conditions } }, merge);

  test.each<[string, string, string, object[]]>([
    ['of one type', '[1].type', 'FieldValueDuplicate', [condition, condition]],
    ['without a type', '[0].type', 'FieldValueInvalid', [{ ...condition, type: '' }]],
    ['of an invalid type', '[0].type', 'FieldValueInvalid', [{ ...condition, type: 'a b' }]],
    ['of an unknown status', '[0].status', 'FieldValueNotSupported', [{ ...condition, status: 'Maybe' }]],
    [
      'of a negative generation',
      '[0].observedGeneration',
      'FieldValueInvalid',
      [{ ...condition, observedGeneration: -1 }],
    ],
    ['without a time', '[0].lastTransitionTime', 'FieldValueRequired', [{ ...condition, lastTransitionTime: null }]],
    ['without a reason', '[0].reason', 'FieldValueRequired', [{ ...condition, reason: null }]],
    ['with an invalid reason', '[0].reason', 'FieldValueInvalid', [{ ...condition, reason: 'A:' }]],
    ['with a long reason', '[0].reason', 'FieldValueTooLong', [{ ...condition, reason: 'A'.repeat(1025) }]],
    ['with a long message', '[0].message', 'FieldValueTooLong', [{ ...condition, message: 'm'.repeat(32_769) }]],
  ])('%s are rejected', async (_, field, reason, conditions) => {
    await create(policies);
    const { status, body } = await patch(...conditions);
    expect([status, body.details?.causes?.[0]]).toEqual([
      422,
      expect.objectContaining({ field: `status.conditions${field}`, reason }),
    ]);
  });

  test('without a time and a reason are rejected with the words of kube-apiserver', async () => {
    await create(policies);
    const { body } = await patch({ ...condition, lastTransitionTime: null, reason: null });
    expect(body.message).toMatch(
      /: \[status\.conditions\[0\]\.lastTransitionTime: Required value, status\.conditions\[0\]\.reason: Required value\]$/,
    );
  });

  test('are written if they are valid', async () => {
    await create(policies);
    const { status, body } = await patch(condition, { ...condition, type: 'a.b/c', message: 'm'.repeat(32_768) });
    expect([status, body['status']]).toMatchObject([200, { conditions: [condition, { type: 'a.b/c' }] }]);
  });

  test('that were stored before are no obstacle to other writes', async () => {
    const { body: created } = await create(policies, { name: 'y' });
    const stored = {
      ...created,
      metadata: { ...created.metadata, name: 'x' },
      status: { conditions: [{ ...condition, type: 'a b', message: '' }] },
    };
    const never = callUntil(Number.POSITIVE_INFINITY);
    await served.server.store.create(`${policies.key}/x`, Buffer.from(JSON.stringify(stored)), {}, never);
    expect((await send('PATCH', `${policies.path}/x`, { metadata: { labels: { a: 'b' } } }, merge)).status).toBe(200);
  });
});

describe('service accounts', () => {
  const accounts = resourceOf('ServiceAccount');

  test.each([
    ['of an atomic list', {}],
    ['of a replaced object', { $patch: 'replace', metadata: { name: 'x' } }],
  ])('an entry %s that looks like a delete directive stays, with a warning', async (_, whole) => {
    await create(accounts);
    const one = `${accounts.path}/x`;
    await send('PATCH', one, { imagePullSecrets: [{ name: 'i1' }, { name: 'i2' }] }, merge);
    const patch = { ...whole, imagePullSecrets: [{ name: 'i3' }, { name: 'i1', $patch: 'delete' }] };
    const { status, body, warnings } = await send('PATCH', one, patch, strategic);
    expect([status, body['imagePullSecrets']]).toEqual([200, [{ name: 'i3' }, { name: 'i1' }]]);
    expect(warnings).toEqual([expect.stringContaining('imagePullSecrets[1].$patch')]);
    const strict = await send('PATCH', `${one}?fieldValidation=Strict`, patch, strategic);
    expect(strict.status).toBe(400);
  });

  test('an entry with a delete directive has no effect where there is no list', async () => {
    await create(accounts);
    const patch = { imagePullSecrets: [{ name: 'i1' }, { name: 'i2', $patch: 'delete' }] };
    const { status, body, warnings } = await send('PATCH', `${accounts.path}/x`, patch, strategic);
    expect([status, body['imagePullSecrets'], warnings]).toEqual([200, [{ name: 'i1' }], []]);
  });

  test('an applied owner takes the place of all with its uid, which others own', async () => {
    const owner = (name: string, more: object = {}): object => ({
      apiVersion: 'v1',
      kind: 'Thing',
      name,
      uid: 'u',
      ...more,
    });
    await create(accounts, { ownerReferences: [owner('a'), owner('b', { controller: true })] });
    const configuration = { ...validObject(accounts), metadata: { name: 'x', ownerReferences: [owner('a')] } };
    const target = `${accounts.path}/x?fieldManager=m`;
    expect((await send('PATCH', target, configuration, apply)).status).toBe(409);
    const forced = await send('PATCH', `${target}&force=true`, configuration, apply);
    expect([forced.status, forced.body.metadata.ownerReferences]).toEqual([200, [owner('a')]]);
  });

  test.each(['true', 'false', ''])('the deprecated annotation causes a warning if it is %j', async (value) => {
    for (const domain of ['platform.io', 'kubernetes.io']) {
      const annotations = { [`${domain}/enforce-mountable-secrets`]: value };
      const warned = [expect.stringContaining('deprecated in v1.32+')];
      expect((await create(accounts, { name: `x.${domain}`, annotations })).warnings).toEqual(warned);
      const again = await send(
        'PUT',
        `${accounts.path}/x.${domain}`,
        validObject(accounts, { name: `x.${domain}`, annotations }),
      );
      expect(again.warnings).toEqual([]);
    }
  });
});

test('rules of a role and of a new webhook that look like directives stay, with a warning', async () => {
  const roles = resourceOf('Role');
  const rule = { verbs: ['get'], apiGroups: [''], resources: ['events'] };
  await create(roles);
  const rules = [rule, { ...rule, resources: ['nodes'], $patch: 'delete' }];
  const replaced = await send(
    'PATCH',
    `${roles.path}/x`,
    { $patch: 'replace', metadata: { name: 'x' }, rules },
    strategic,
  );
  expect(replaced.body['rules']).toEqual([rule, { ...rule, resources: ['nodes'] }]);
  expect(replaced.warnings).toEqual([expect.stringContaining('rules[1].$patch')]);

  const path = '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations';
  const operation = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['events'] };
  const hook = (name: string, ...of: object[]): object => ({
    name,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    clientConfig: { url: 'https://a.example/b' },
    rules: of,
  });
  await send('POST', path, { metadata: { name: 'w' }, webhooks: [hook('b.example.com', operation)] });
  const patch = { webhooks: [hook('a.example.com', operation, { ...operation, $patch: 'delete' })] };
  const added = await send('PATCH', `${path}/w`, patch, strategic);
  expect((added.body['webhooks'] as { rules: object[] }[]).map((one) => one.rules.length)).toEqual([2, 1]);
  expect(added.warnings).toEqual([expect.stringContaining('webhooks[0].rules[1].$patch')]);
});

describe('namespaces', () => {
  test('a subresource write does not change managedFields', async () => {
    const one = '/api/v1/namespaces/team';
    const metadata = { name: 'team', labels: { a: 'b' } };
    const created = await send('POST', '/api/v1/namespaces', { metadata });
    const { managedFields } = created.body.metadata;
    expect(managedFields).toHaveLength(1);
    const reset = { metadata: { ...metadata, managedFields: [] }, status: { phase: 'Active' } };
    const answers = [
      await send('PUT', `${one}/status`, reset),
      await send('PATCH', `${one}/status`, reset, merge),
      await send('PUT', `${one}/finalize`, { ...reset, spec: { finalizers: ['kubernetes'] } }),
    ];
    for (const { status, body } of answers)
      expect([status, body.metadata.managedFields]).toEqual([200, expect.arrayContaining(managedFields as object[])]);
    expect((await send('PATCH', one, reset, merge)).body.metadata.managedFields).toBeUndefined();
  });

  test('a status without a phase is active', async () => {
    const one = '/api/v1/namespaces/team';
    const metadata = { name: 'team' };
    await send('POST', '/api/v1/namespaces', { metadata });
    const answers = [
      await send('PUT', `${one}/status`, { metadata }),
      await send('PATCH', `${one}/status`, { status: null }, merge),
    ];
    for (const { status, body } of answers) expect([status, body['status']]).toEqual([200, { phase: 'Active' }]);
  });

  test('an applied condition is not merged with several of its type', async () => {
    const one = '/api/v1/namespaces/team';
    await send('POST', '/api/v1/namespaces', { metadata: { name: 'team' } });
    const condition = (status: string, more: object = {}): object => ({ type: 'A', status, ...more });
    const conditions = [condition('False'), condition('False', { reason: 'Last' })];
    await send('PUT', `${one}/status`, { metadata: { name: 'team' }, status: { phase: 'Active', conditions } });
    const configuration = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'team' },
      status: { conditions: [condition('True')] },
    };
    const { status, body } = await send('PATCH', `${one}/status?fieldManager=m&force=true`, configuration, apply);
    expect([status, body['status']]).toEqual([
      200,
      { phase: 'Active', conditions: [condition('True', { lastTransitionTime: null })] },
    ]);
  });
});

describe('event fields with different names in two versions', () => {
  const core = resourceOf('Event');
  const events = resourceOf('Event', 'events.k8s.io/v1');
  const one = (place: ServedResource): string => `${place.path}/x`;
  const ownersOf = ({ body }: JsonResponse): string[][] =>
    (body.metadata.managedFields ?? []).map(({ manager, apiVersion, fieldsV1 }) => [
      manager,
      apiVersion,
      ...['f:message', 'f:note'].filter((step) => Object.hasOwn(fieldsV1, step)),
    ]);

  test.each([
    [core, 'v1', 'f:message'],
    [events, 'events.k8s.io/v1', 'f:note'],
  ] as const)("are owned under the names of the writer's version: $apiVersion", async (place, version, step) => {
    const applied = { ...validObject(events), note: 'a' };
    const written = place === core ? { ...validObject(core), message: 'a' } : applied;
    const created = await send('PATCH', `${one(place)}?fieldManager=m`, written, apply);
    expect([created.status, ...ownersOf(created)]).toEqual([201, ['m', version, step]]);
    const shown = await send('GET', one(place === core ? events : core));
    expect(ownersOf(shown)).toEqual([['m', version, step]]);
    const conflict = await send('PATCH', `${one(core)}?fieldManager=o`, { ...validObject(core), message: 'b' }, apply);
    expect([conflict.status, conflict.body.details?.causes]).toEqual([
      409,
      [{ reason: 'FieldManagerConflict', message: 'conflict with "m"', field: step.replace('f:', '.') }],
    ]);
    const forced = await send(
      'PATCH',
      `${one(core)}?fieldManager=o&force=true`,
      { ...validObject(core), message: 'b' },
      apply,
    );
    expect(ownersOf(forced)).toHaveLength(2);
    expect(ownersOf(forced)).toEqual(
      expect.arrayContaining([
        ['m', version],
        ['o', 'v1', 'f:message'],
      ]),
    );
  });

  test('an update through the other version takes ownership', async () => {
    await send('PATCH', `${one(core)}?fieldManager=m`, { ...validObject(core), message: 'a' }, apply);
    const updated = await send('PATCH', `${one(core)}?fieldManager=u`, { message: 'b' }, merge);
    expect(ownersOf(updated)).toContainEqual(['u', 'v1', 'f:message']);
    const series = { series: { count: 2, lastObservedTime: '2026-01-01T00:00:00.000000Z' } };
    const viewed = await send('PATCH', `${one(events)}?fieldManager=u`, series, merge);
    expect(ownersOf(viewed)).toContainEqual(['u', 'events.k8s.io/v1']);
    expect(ownersOf(viewed)).toContainEqual(['u', 'v1', 'f:message']);
    const conflict = await send('PATCH', `${one(core)}?fieldManager=o`, { ...validObject(core), message: 'c' }, apply);
    expect(conflict.body.message).toContain('conflict with "u" using v1: .message');
  });
});
