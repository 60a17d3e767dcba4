/** Edge cases in which the server once responded differently from kube-apiserver, for every resource that has them. */
import { describe, expect, test } from '@jest/globals';
import { callUntil } from '@cluster-apiserver/base';
import type { ResponseBody } from '@cluster-apiserver/testkit/json-response';
import { declaredResources, type ServedResource, servedResources, validObject } from './resources.ts';
import { atVersionOf, currentVersion, patchTypes, useServer } from './use-server.ts';

const served = useServer();
const { send, create } = served;
const { json, merge, strategic, apply } = patchTypes;

/** Stores an unreadable object. */
const wreck = ({ key }: ServedResource): Promise<unknown> =>
  served.server.store.create(`${key}/wreck`, Buffer.from('[1]'), {}, callUntil(Number.POSITIVE_INFINITY));

const label = { metadata: { labels: { a: 'b' } } };
const versioned = { ...label.metadata, resourceVersion: currentVersion };
const unsafely = 'ignoreStoreReadErrorWithClusterBreakingPotential';

describe.each(declaredResources)('$apiVersion $kind', (place) => {
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
    ['that replaces the whole object', { $patch: 'replace', ...validObject(place, versioned), kind: null }, strategic],
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
      [{ op: 'replace', path: '', value: { ...validObject(place, versioned), apiVersion: undefined } }],
      json,
    ],
  ])('a patch %s keeps the kind of the path: %j', async (_, patch, type) => {
    const { body: created } = await create(place);
    const { status, body } = await send('PATCH', one, atVersionOf(created, patch), type);
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
    const fields = new Set(long.body.details?.causes?.map(({ field }) => field));
    const tooLong = expect.stringMatching(/^metadata\.managedFields\[\d\]\.subresource$/);
    expect([long.status, [...fields]]).toEqual([422, [tooLong]]);
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
    const watch = await served.server.request('GET', `${place.path}?watch=true&timeoutSeconds=1&${shard}`);
    expect([watch.status, watch.headers['warning']]).toEqual([200, [off]]);
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
    test('deleting a collection returns what was deleted and the continue token', async () => {
      for (const name of ['a', 'b', 'c']) await create(place, { name });
      const { plural, singular } = place;
      const remove = async (query: string): Promise<readonly unknown[]> => {
        const { body } = await send('DELETE', `${place.path}?limit=2${query}`);
        token = body.metadata.continue;
        const names = body.items?.map(({ metadata }) => metadata.name);
        return [body.kind, body.message ?? names, body.metadata.remainingItemCount, Boolean(token)];
      };
      let token: string | undefined;
      // The specification wants a Status for these; others are answered like in kube-apiserver.
      const isCounted = place.kind === 'Event' || place.kind === 'ServiceAccount';
      const answer = (counted: string, names: readonly string[]): readonly unknown[] =>
        isCounted ? ['Status', counted] : [`${place.kind}List`, names];
      const both = ['a', 'b'];
      expect(await remove('&dryRun=All')).toEqual([...answer(`deleted 2 ${plural} (dry run)`, both), 1, true]);
      expect(await remove('')).toEqual([...answer(`deleted 2 ${plural}`, both), 1, true]);
      const rest = await remove(`&continue=${token}`);
      expect(rest).toEqual([...answer(`deleted 1 ${singular}`, ['c']), undefined, false]);
      expect((await send('GET', place.path)).body.items).toEqual([]);
    });

    test('a collection with an unreadable object is deleted only as a whole, by users with permission and the unsafe option', async () => {
      await served.restart({ deletesUnreadable: true });
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
  for (const target of watches('x')) expect((await served.server.request('GET', target)).status).toBe(200);
  for (const target of [`${place.path}?${named('wreck')}`, ...watches('wreck')])
    expect((await send('GET', target)).body.reason).toBe('StorageReadError');
});
