/** Edge cases in which the server once responded differently from kube-apiserver, for every resource that has them. */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { callUntil, seededRandom } from '@cluster-apiserver/base';
import { deleteOptions, encodeProtobuf } from '@cluster-apiserver/model';
import { type InMemoryServer, serveInMemory } from '../serve-in-memory.ts';
import {
  type JsonResponse,
  type ResponseBody,
  resourceOf,
  sendRequest,
  type ServedResource,
  servedResources,
  warningsOf,
  validObject,
} from './resources.ts';

let server: InMemoryServer;
beforeEach(async () => {
  server = await serveInMemory({ random: seededRandom(5) });
});
afterEach(() => server.close());

const send = (method: string, target: string, body?: object | string | Buffer, type?: string): Promise<JsonResponse> =>
  sendRequest(server, method, target, body, type);
const create = async (place: ServedResource, metadata?: object): Promise<JsonResponse> => {
  const created = await send('POST', place.path, validObject(place, metadata));
  expect(created.status).toBe(201);
  return created;
};
/** Stores an unreadable object. */
const wreck = ({ key }: ServedResource): Promise<unknown> =>
  server.store.create(`${key}/wreck`, Buffer.from('[1]'), {}, callUntil(Number.POSITIVE_INFINITY));
const [json, merge, strategic, apply] = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

const label = { metadata: { labels: { a: 'b' } } };
const unsafely = 'ignoreStoreReadErrorWithClusterBreakingPotential';

describe.each(servedResources)('$apiVersion $kind', (place) => {
  const one = `${place.path}/x`;

  test.each<[string, object, string]>([
    ['that omits the kind', { kind: null, ...label }, merge],
    ['that omits the version', { apiVersion: null, ...label }, merge],
    ['with an empty kind', { kind: '', ...label }, merge],
    ['that omits the kind', { kind: null, ...label }, strategic],
    [
      'that retains listed fields',
      { $retainKeys: ['metadata', ...Object.keys(validObject(place)).slice(3)], ...label },
      strategic,
    ],
    [
      'that replaces the whole object',
      { $patch: 'replace', ...validObject(place, label.metadata), kind: null },
      strategic,
    ],
    [
      'that removes the kind',
      [
        { op: 'remove', path: '/kind' },
        { op: 'add', path: '/metadata/labels', value: { a: 'b' } },
      ],
      json,
    ],
    [
      'that replaces the document',
      [{ op: 'replace', path: '', value: { ...validObject(place, label.metadata), apiVersion: undefined } }],
      json,
    ],
  ])('a patch %s keeps the kind of the path: %j', async (_, patch, type) => {
    await create(place);
    const { status, body } = await send('PATCH', one, patch, type);
    expect([status, body['kind'], body['apiVersion'], body.metadata.labels]).toEqual([
      200,
      place.kind,
      place.apiVersion,
      expect.objectContaining({ a: 'b' }),
    ]);
  });

  test.each<[object, string, number]>([
    [{ kind: 'Other' }, merge, 422],
    [{ apiVersion: 'v9' }, strategic, 422],
    [{ metadata: { name: null } }, merge, 400],
    [{ metadata: null }, merge, 400],
    [{ $patch: 'delete' }, strategic, 400],
    [[{ op: 'remove', path: '/metadata/name' }], json, 400],
  ])('a patch that changes the kind or removes the name is rejected: %j', async (patch, type, code) => {
    await create(place);
    const { status, body } = await send('PATCH', one, patch, type);
    expect(status).toBe(code);
    expect(body.message).not.toMatch(/undefined|\(\)/);
  });

  test.each<[string, object]>([
    ['omits an element of the patch', { metadata: { '$setElementOrder/finalizers': ['a/a'], finalizers: ['b/b'] } }],
    ['has another order', { metadata: { '$setElementOrder/finalizers': ['a/a', 'b/b'], finalizers: ['b/b', 'a/a'] } }],
    ['refers to an unknown list', { '$setElementOrder/bogus': ['a'] }],
    ['refers to an atomic list', { metadata: { '$setElementOrder/managedFields': [{ manager: 'a' }] } }],
    ['refers to a map', { metadata: { '$setElementOrder/labels': ['a'] } }],
    [
      'omits an owner of the patch',
      { metadata: { '$setElementOrder/ownerReferences': [{ uid: '1' }], ownerReferences: [{ uid: '2' }] } },
    ],
  ])('a setElementOrder that %s is a bad request', async (_, patch) => {
    await create(place);
    expect((await send('PATCH', one, patch, strategic)).status).toBe(400);
  });

  test.each<[string, (all: ResponseBody) => [string, object, string?]]>([
    ['a merge patch with an empty list', () => ['PATCH', { metadata: { managedFields: [] } }, merge]],
    ['a merge patch with an empty entry', () => ['PATCH', { metadata: { managedFields: [{}] } }, merge]],
    ['a strategic patch', () => ['PATCH', { metadata: { managedFields: [] } }, strategic]],
    ['a JSON patch', () => ['PATCH', [{ op: 'replace', path: '/metadata/managedFields', value: [] }], json]],
    [
      'a replace',
      (all) => [
        'PUT',
        { ...all, metadata: { ...all.metadata, uid: undefined, creationTimestamp: undefined, managedFields: [] } },
      ],
    ],
  ])('%s clears managedFields, and no other request does', async (_, requestOf) => {
    const { body: stored } = await create(place, label.metadata);
    expect(stored.metadata.managedFields).toHaveLength(1);
    const { managedFields: __, ...metadata } = stored.metadata;
    const kept = await send('PUT', one, { ...stored, metadata });
    expect(kept.body.metadata.managedFields).toEqual(stored.metadata.managedFields);
    const [method, body, type] = requestOf(stored);
    const cleared = await send(method, one, body, type);
    expect([cleared.status, cleared.body.metadata.managedFields]).toEqual([200, undefined]);
  });

  test('managedFields in unsupported versions are dropped, and overlong subresources rejected', async () => {
    const { body: stored } = await create(place);
    const entry = (apiVersion: string, subresource = ''): object => ({
      manager: apiVersion,
      operation: 'Update',
      apiVersion,
      fieldsType: 'FieldsV1',
      fieldsV1: { 'f:metadata': { 'f:labels': { 'f:a': {} } } },
      ...(subresource && { subresource }),
    });
    const of = (...more: object[]): object => ({
      metadata: { managedFields: [...(stored.metadata.managedFields ?? []), ...more] },
    });
    const { body } = await send('PATCH', one, of(entry('apps/v1'), entry(place.apiVersion)), merge);
    expect(body.metadata.managedFields?.map(({ manager }) => manager).toSorted()).toEqual(
      [...(stored.metadata.managedFields ?? []).map(({ manager }) => manager), place.apiVersion].toSorted(),
    );
    const long = await send('PATCH', one, of(entry(place.apiVersion, 's'.repeat(257))), merge);
    expect([long.status, long.body.details?.causes]).toEqual([
      422,
      [expect.objectContaining({ field: expect.stringMatching(/^metadata\.managedFields\[\d\]\.subresource$/) })],
    ]);
    expect((await send('PATCH', one, of(entry(place.apiVersion, 's'.repeat(256))), merge)).status).toBe(200);
  });

  test.each([
    ['a/b/c', 422],
    ['a/', 422],
    ['/', 422],
    ['', 422],
    ['/v1', 201],
    ['apps/v1', 201],
    ['v1', 201],
  ])('an owner reference with the version %j gets status %d', async (apiVersion, code) => {
    const ownerReferences = [{ apiVersion, kind: 'Thing', name: 'o', uid: 'u' }];
    expect((await send('POST', place.path, validObject(place, { ownerReferences }))).status).toBe(code);
  });

  test('only identical duplicates of an owner reference are dropped', async () => {
    const owner = (name: string): object => ({ apiVersion: 'v1', kind: 'Thing', name, uid: 'u' });
    const ownerReferences = [owner('a'), owner('b'), owner('a')];
    const created = await send('POST', place.path, validObject(place, { ownerReferences }));
    const { resourceVersion } = created.body.metadata;
    const answers = [
      created,
      await send('PUT', one, validObject(place, { ownerReferences, resourceVersion })),
      await send('PATCH', one, { metadata: { ownerReferences } }, merge),
      await send('PATCH', one, [{ op: 'add', path: '/metadata/ownerReferences', value: ownerReferences }], json),
    ];
    for (const { body, warnings } of answers) {
      expect(body.metadata.ownerReferences).toEqual([owner('a'), owner('b')]);
      expect(warnings).toEqual([expect.stringContaining('duplicate UID(s) observed: u')]);
    }
  });

  test.each([
    ['ä'.repeat(64), 201],
    ['ä'.repeat(127), 201],
    ['ä'.repeat(128), 422],
    ['x'.repeat(128), 422],
    ['😀'.repeat(127), 201],
  ])('a field manager has at most 128 characters, not bytes: %s', async (manager, code) => {
    const target = `?fieldManager=${encodeURIComponent(manager)}`;
    expect((await send('POST', place.path + target, validObject(place))).status).toBe(code);
    if (code !== 201) return;
    const applied = { ...validObject(place), metadata: { name: 'x', labels: { a: 'b' } } };
    expect((await send('PATCH', one + target, applied, apply)).status).toBe(200);
  });

  test.each([
    ['i>-1', 400],
    ['i<-1', 400],
    ['i>+1', 400],
    ['i>1.5', 400],
    ['i>9223372036854775808', 400],
    ['i>9223372036854775807', 200],
    ['i>00000000000000000000001', 200],
    ['i<5', 200],
  ])('the label selector %s gets status %d', async (selector, code) => {
    const query = `?labelSelector=${encodeURIComponent(selector)}`;
    expect((await send('GET', place.path + query)).status).toBe(code);
    if (place.hasDeleteCollection) expect((await send('DELETE', place.path + query)).status).toBe(code);
  });

  test.each([
    ['v1', 200],
    ['apps/v1', 200],
    ['v2', 200],
    ['events.k8s.io/v1', 200],
    [undefined, 200],
    ['a/b/c', 400],
  ])('DeleteOptions of version %j get status %d', async (apiVersion, code) => {
    for (const target of place.hasDeleteCollection ? [one, place.path] : [one]) {
      await send('POST', place.path, validObject(place));
      expect((await send('DELETE', target, { kind: 'DeleteOptions', apiVersion })).status).toBe(code);
      expect((await send('DELETE', target, { kind: 'Pod', apiVersion })).status).toBe(400);
      await send('DELETE', one);
    }
  });

  test('an ineffective shard selector causes a warning on reads and never deletes', async () => {
    await create(place);
    const shard = `shardSelector=${encodeURIComponent("shardRange(object.metadata.uid, '0x0', '0x1')")}`;
    const off = expect.stringContaining('ShardedListAndWatch');
    expect((await send('GET', `${place.path}?${shard}`)).warnings).toEqual([off]);
    const watch = await server.request('GET', `${place.path}?watch=true&timeoutSeconds=1&${shard}`);
    expect([watch.status, warningsOf(watch.headers)]).toEqual([200, [off]]);
    if (place.hasDeleteCollection) expect((await send('DELETE', `${place.path}?${shard}`)).status).toBe(400);
    expect((await send('GET', `${place.path}?shardSelector=`)).warnings).toEqual([]);
    expect((await send('GET', one)).status).toBe(200);
  });

  test('a generated name never replaces an existing object', async () => {
    await create(place);
    for (const query of ['', '?dryRun=All']) {
      const { status, body } = await send('POST', place.path + query, validObject(place, { generateName: 'x-' }));
      expect([status, body.reason, body.details?.retryAfterSeconds]).toEqual([409, 'AlreadyExists', 1]);
      expect(body.message).toMatch(/already exists, the server was not able to generate a unique name for the object$/);
    }
    expect((await send('POST', place.path, validObject(place))).body.details?.retryAfterSeconds).toBeUndefined();
    expect((await create(place, { name: 'y', generateName: 'x-' })).body.metadata.name).toBe('y');
  });

  describe('a collection with an unreadable object', () => {
    const key = `${place.key}/wreck`;

    test('lists and watches report its key, and its name stays taken', async () => {
      await create(place);
      await wreck(place);
      const cause = { reason: 'UnexpectedServerResponse', field: key, message: expect.any(String) };
      for (const [method, target] of [
        ['GET', place.path],
        ['GET', `${place.path}?limit=1`],
        ['GET', `${place.path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan`],
        ...(place.hasDeleteCollection ? ([['DELETE', place.path]] as const) : []),
      ] as const) {
        const { status, body } = await send(method, target);
        expect([target, status, body.reason, body.details?.causes]).toEqual([target, 500, 'StorageReadError', [cause]]);
      }
      expect((await send('GET', `${place.path}/wreck`)).body.reason).toBe('InternalError');
      for (const query of ['', '?dryRun=All'])
        expect((await send('POST', place.path + query, validObject(place, { name: 'wreck' }))).status).toBe(409);
    });

    test('a dry run warns that the option has no effect', async () => {
      await wreck(place);
      for (const target of [`${place.path}/wreck`, ...(place.hasDeleteCollection ? [place.path] : [])]) {
        const { status, warnings } = await send('DELETE', `${target}?${unsafely}=true`);
        expect([status, warnings]).toEqual([500, [expect.stringContaining('AllowUnsafeMalformedObjectDeletion')]]);
      }
    });
  });
});

describe.each(servedResources.filter(({ hasDeleteCollection }) => hasDeleteCollection))(
  'a collection of $apiVersion $kind',
  (place) => {
    test('deleting a collection returns the number of objects and the continue token', async () => {
      for (const name of ['a', 'b', 'c']) await create(place, { name });
      const { plural, singular } = place;
      const rehearsed = await send('DELETE', `${place.path}?limit=2&dryRun=All`);
      expect(rehearsed.body.message).toBe(`deleted 2 ${plural} (dry run)`);
      const first = await send('DELETE', `${place.path}?limit=2`);
      expect([first.body.message, first.body.metadata.remainingItemCount]).toEqual([`deleted 2 ${plural}`, 1]);
      const rest = await send('DELETE', `${place.path}?limit=2&continue=${first.body.metadata.continue}`);
      expect([rest.body.message, rest.body.metadata]).toEqual([`deleted 1 ${singular}`, {}]);
      expect((await send('GET', place.path)).body.items).toEqual([]);
    });

    test('a collection with an unreadable object is deleted only as a whole, by users with permission and the unsafe option', async () => {
      await server.close();
      server = await serveInMemory({ random: seededRandom(5), deletesUnreadable: true });
      await create(place);
      await wreck(place);
      for (const part of ['labelSelector=a%3Db', 'limit=5', 'fieldSelector=metadata.name%3Dwreck'])
        expect((await send('DELETE', `${place.path}?${unsafely}=true&${part}`)).status).toBe(400);
      expect((await send('DELETE', place.path)).status).toBe(500);
      const rehearsed = await send('DELETE', `${place.path}?${unsafely}=true&dryRun=All`);
      expect([rehearsed.status, rehearsed.body.message]).toEqual([200, expect.stringMatching(/^deleted 2 /)]);
      expect((await send('DELETE', place.path, { [unsafely]: true })).body.message).toMatch(/^deleted 2 /);
      expect((await send('GET', place.path)).body.items).toEqual([]);
    });
  },
);

const parts = servedResources.flatMap((place) => place.parts.map((part) => ({ ...place, part })));

describe.each(parts.filter(({ part }) => part === 'status'))('$apiVersion $kind/$part', (place) => {
  const one = `${place.path}/x`;
  const status = place.kind === 'Namespace' ? { phase: 'Active' } : { observedGeneration: 1 };

  test.each<[string, object, string]>([
    ['that omits the kind', { kind: null, status }, merge],
    ['that omits the version', { apiVersion: null, status }, strategic],
    ['that replaces the whole object', { $patch: 'replace', metadata: { name: 'x' }, status }, strategic],
    [
      'that removes the kind',
      [
        { op: 'remove', path: '/kind' },
        { op: 'add', path: '/status', value: status },
      ],
      json,
    ],
    ['that replaces the document', [{ op: 'replace', path: '', value: { metadata: { name: 'x' }, status } }], json],
  ])('a patch %s keeps the kind and the other fields: %j', async (_, patch, type) => {
    const { body: created } = await create(place);
    const { status: code, body } = await send('PATCH', `${one}/${place.part}`, patch, type);
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
  const answers = [
    await send('PUT', target, { ...created, metadata: { name: 'x', resourceVersion, ...metadata }, status }),
    await send('PATCH', target, { metadata: { ...metadata, labels: null } }, merge),
    await send('PATCH', target, { $patch: 'replace', metadata: { name: 'x' }, status }, strategic),
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
    await server.store.create(`${policies.key}/x`, Buffer.from(JSON.stringify(stored)), {}, never);
    expect((await send('PATCH', `${policies.path}/x`, label, merge)).status).toBe(200);
  });
});

test.each(servedResources)('a read of $apiVersion $kind by name ignores unreadable others', async (place) => {
  await create(place);
  await wreck(place);
  const named = (name: string): string => `fieldSelector=metadata.name%3D${name}`;
  const { body } = await send('GET', `${place.path}?${named('x')}`);
  expect(body.items?.map(({ metadata }) => metadata.name)).toEqual(['x']);
  const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=1';
  const watches = (name: string): string[] => [
    `${place.path}?watch=true&${named(name)}&${initial}`,
    `${place.path.replace('/v1/', '/v1/watch/')}/${name}?${initial}`,
  ];
  for (const target of watches('x')) expect((await server.request('GET', target)).status).toBe(200);
  for (const target of [`${place.path}?${named('wreck')}`, ...watches('wreck')])
    expect((await send('GET', target)).body.reason).toBe('StorageReadError');
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

const options = { apiVersion: 'apps/v1', kind: 'DeleteOptions', dryRun: ['All'] };

test.each<[string, string | Buffer]>([
  ['application/yaml', 'apiVersion: apps/v1\nkind: DeleteOptions\ndryRun: [All]\n'],
  ['application/json', JSON.stringify(options)],
  ['application/vnd.kubernetes.protobuf', encodeProtobuf(deleteOptions, options)],
])('DeleteOptions in %s may have any version and apply', async (type, body) => {
  await create(resourceOf('ServiceAccount'));
  expect((await send('DELETE', `${resourceOf('ServiceAccount').path}/x`, body, type)).status).toBe(200);
  expect((await send('GET', `${resourceOf('ServiceAccount').path}/x`)).status).toBe(200);
});

test('empty managedFields clear them in YAML as in JSON', async () => {
  await create(resourceOf('ServiceAccount'), { labels: { a: 'b' } });
  const yaml = 'metadata:\n  name: x\n  labels: {a: b}\n  managedFields: []\n';
  const { status, body } = await send('PUT', `${resourceOf('ServiceAccount').path}/x`, yaml, 'application/yaml');
  expect([status, body.metadata.managedFields]).toEqual([200, undefined]);
});

describe('a body in YAML that is JSON, too', () => {
  const events = '/api/v1/namespaces/n/events';
  const event = (end: string): string =>
    `{"metadata":{"name":"x"},"involvedObject":{"namespace":"n","name":"a"},${end}}`;
  const duplicate = 'line 1: key "reason" already set in map';

  test('has the numbers of YAML', async () => {
    const { status, body } = await send('POST', events, event('"count":1e2'), 'application/yaml');
    expect([status, body['count']]).toEqual([201, 100]);
  });

  test('reports duplicate keys as YAML does', async () => {
    const text = event('"reason":"A","reason":"B"');
    const warned = await send('POST', events, text, 'application/yaml');
    expect([warned.status, warned.warnings, warned.body['reason']]).toEqual([
      201,
      [`299 - "${duplicate.replaceAll('"', '\\"')}"`],
      'B',
    ]);
    const strict = await send('POST', `${events}?fieldValidation=Strict`, text, 'application/yaml');
    expect([strict.status, strict.body.message]).toEqual([
      400,
      `Event in version "v1" cannot be handled as a Event: strict decoding error: yaml: unmarshal errors:\n  ${duplicate}`,
    ]);
  });

  test('reports duplicate keys of an applied configuration', async () => {
    const text = event('"apiVersion":"v1","kind":"Event","reason":"A","reason":"B"');
    const path = `${events}/x?fieldManager=m`;
    const strict = await send('PATCH', `${path}&fieldValidation=Strict`, text, apply);
    expect([strict.status, strict.body.message]).toEqual([
      400,
      `error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  ${duplicate}`,
    ]);
    const warned = await send('PATCH', path, text, apply);
    expect([warned.status, warned.warnings]).toEqual([201, [`299 - "${duplicate.replaceAll('"', '\\"')}"`]]);
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
