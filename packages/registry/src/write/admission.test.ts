import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { toSyncTask, callUntil, systemClock as clock } from '@cluster-apiserver/base';
import { type AdmissionPlugin, type AdmissionContext, createAdmission } from '@cluster-apiserver/gates';
import { StatusError } from '@cluster-apiserver/model';
import { defineKind, type KubeObject } from '@cluster-apiserver/model/kind';
import { readApplied } from '@cluster-apiserver/model/managed-fields';
import { decode } from '@cluster-apiserver/model/schema';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import {
  apply,
  create,
  deleteCollection,
  deleteObject,
  patch,
  type Registry,
  update,
  type Resource,
} from '../index.ts';
import { openTestRegistry } from '../../test/open-test-registry.ts';

const kind = defineKind({
  group: '',
  version: 'v1',
  kind: 'Robot',
  plural: 'robots',
  singular: 'robot',
  description: 'For these tests.',
  fields: {},
  qualifiedFinalizers: false,
  createOnUpdate: true,
  deletedAnswer: 'object',
});
const call = callUntil(Number.POSITIVE_INFINITY);
const store = memoryStore(clock);
let registry: Registry;
let resource: Resource;
let attempts: AdmissionContext[];

beforeEach(() => {
  registry = openTestRegistry(kind, store, clock);
  resource = registry.api.stored[0] as Resource;
  attempts = [];
});
afterEach(() => registry.cache.close());

let run = 0;
const fresh = (): string => `n${++run}`;
const robot = (name: string, labels: Record<string, string> = {}): KubeObject =>
  decode(kind.schema, { kind: 'Robot', apiVersion: 'v1', metadata: { name, labels } }, () => {});
const asking = (namespace: string, plugins: readonly AdmissionPlugin[], dryRun = false) => ({
  namespace,
  dryRun,
  manager: 'm',
  warn: () => {},
  requester: {
    admission: createAdmission(plugins),
    user: { name: 'somebody', groups: [] },
    subresource: undefined,
    options: { kind: 'CreateOptions' } as const,
    call,
    warn: () => {},
    annotate: () => {},
    authorizeCreate: () => {},
  },
});
const recording: AdmissionPlugin = {
  name: 'recording',
  validate: (attempt) => {
    attempts.push(attempt);
    return undefined;
  },
};
const refusing = (operation: string): AdmissionPlugin => ({
  name: 'refusing',
  validate: async (attempt) => {
    if (attempt.operation === operation) throw new StatusError('Forbidden', 'not today');
    return undefined;
  },
});
/** Each verb that makes an object, with what it makes of it. */
const creations: readonly (readonly [
  string,
  (options: ReturnType<typeof asking>, name: string) => Promise<unknown>,
])[] = [
  ['create', (options, name) => create(resource, robot(name), options, call)],
  ['replace', (options, name) => update(resource, name, robot(name), options, call)],
  [
    'apply',
    (options, name) =>
      apply(
        resource,
        name,
        readApplied(kind.schema, { kind: 'Robot', apiVersion: 'v1', metadata: { name } }, () => {}),
        { ...options, force: false },
        call,
      ),
  ],
];
/** Each verb that changes one. */
const changes: typeof creations = [
  ['replace', (options, name) => update(resource, name, robot(name, { a: 'b' }), options, call)],
  [
    'patch',
    (options, name) => {
      const change = toSyncTask((object: KubeObject) => ({
        ...object,
        metadata: { ...object.metadata, labels: { a: 'b' } },
      }));
      return patch(resource, name, { ...options, change, unknownFields: () => {} }, call);
    },
  ],
  [
    'apply',
    (options, name) => {
      const applied = readApplied(
        kind.schema,
        { kind: 'Robot', apiVersion: 'v1', metadata: { name, labels: { a: 'b' } } },
        () => {},
      );
      return apply(resource, name, applied, { ...options, force: false }, call);
    },
  ],
];
const stored = async (namespace: string, name: string): Promise<KubeObject | undefined> => {
  const { stored } = await store.get(`/registry/robots/${namespace}/${name}`, call);
  return stored && (JSON.parse(stored.value.toString()) as KubeObject);
};
const marking: AdmissionPlugin = {
  name: 'marking',
  mutate: async ({ object }) => object && { ...object, metadata: { ...object.metadata, annotations: { seen: 'yes' } } },
};

describe.each(creations)('a creation by %s', (_, make) => {
  test('is admitted with the new object, and without an old one', async () => {
    const namespace = fresh();
    await make(asking(namespace, [recording]), 'a');
    expect(attempts).toMatchObject([
      { operation: 'CREATE', namespace, name: 'a', object: { metadata: { name: 'a', namespace } }, dryRun: false },
    ]);
    expect(attempts[0]?.oldObject).toBeUndefined();
  });

  test('writes the object as it was changed', async () => {
    const namespace = fresh();
    await make(asking(namespace, [marking]), 'a');
    expect(await stored(namespace, 'a')).toMatchObject({ metadata: { annotations: { seen: 'yes' } } });
  });

  test.each([false, true])('writes nothing when it is refused (dry run: %s)', async (dryRun) => {
    const namespace = fresh();
    await expect(make(asking(namespace, [refusing('CREATE')], dryRun), 'a')).rejects.toThrow('not today');
    expect(await stored(namespace, 'a')).toBeUndefined();
  });

  test('is admitted again after a broken precondition, with a fresh cache', async () => {
    const namespace = fresh();
    const premise = await create(resource, robot('premise'), asking(namespace, []), call);
    const key = `/registry/robots/${namespace}/premise`;
    let asked = 0;
    const relying: AdmissionPlugin = {
      name: 'relying',
      validate: async () => {
        if (asked++ > 0) {
          expect(resource.collection.get(`${namespace}/premise`)).toBeUndefined();
          throw new StatusError('Forbidden', 'it is gone');
        }
        // Between the leave and the write.
        await store.delete(key, premise.revision as never, call);
        return { key, revision: premise.revision as number };
      },
    };
    await expect(make(asking(namespace, [relying]), 'a')).rejects.toThrow('it is gone');
    expect(asked).toBe(2);
    expect(await stored(namespace, 'a')).toBeUndefined();
  });

  test('is admitted again if the store has ended what another one has, after that has been caught up with', async () => {
    const namespace = fresh();
    let [isKnown, refreshed] = [false, 0];
    const whole = {
      uid: `uid-of-${namespace}`,
      feed: {},
      refresh: async () => {
        refreshed++;
        isKnown = true;
      },
    };
    const relying: AdmissionPlugin = {
      name: 'relying',
      validate: () => {
        if (isKnown) throw new StatusError('Forbidden', 'it is being deleted');
        return { key: '/registry/namespaces/elsewhere', revision: 7, whole };
      },
    };
    await make(asking(namespace, [relying]), 'before');
    await store.end(whole.uid, call);
    await expect(make(asking(namespace, [relying]), 'after')).rejects.toThrow('it is being deleted');
    expect(refreshed).toBe(1);
    expect(await stored(namespace, 'after')).toBeUndefined();
    expect(await stored(namespace, 'before')).toBeDefined();
  });

  test('gives up with a Retry-After if its precondition is broken every time', async () => {
    const namespace = fresh();
    const never: AdmissionPlugin = { name: 'never', validate: () => ({ key: '/registry/none', revision: 1 }) };
    await expect(make(asking(namespace, [never]), 'a')).rejects.toMatchObject({
      reason: 'ServiceUnavailable',
      retryAfterSeconds: 1,
    });
  });
});

describe.each(changes)('a change by %s', (_, change) => {
  test('is admitted with the old and the new object', async () => {
    const namespace = fresh();
    await create(resource, robot('a'), asking(namespace, []), call);
    await change(asking(namespace, [recording]), 'a');
    expect(attempts.at(-1)).toMatchObject({
      operation: 'UPDATE',
      name: 'a',
      object: { metadata: { labels: { a: 'b' } } },
      oldObject: { metadata: { name: 'a' } },
    });
    expect(attempts.at(-1)?.oldObject?.metadata).not.toHaveProperty('labels');
  });

  test('writes the object as it was changed, or nothing when it is refused', async () => {
    const namespace = fresh();
    await create(resource, robot('a'), asking(namespace, []), call);
    const before = await stored(namespace, 'a');
    await expect(change(asking(namespace, [refusing('UPDATE')]), 'a')).rejects.toThrow('not today');
    expect(await stored(namespace, 'a')).toEqual(before);
    await change(asking(namespace, [marking]), 'a');
    expect(await stored(namespace, 'a')).toMatchObject({
      metadata: { labels: { a: 'b' }, annotations: { seen: 'yes' } },
    });
  });
});

describe('a create by another verb', () => {
  const notAllowed = (namespace: string) => {
    const options = asking(namespace, []);
    const authorizeCreate = async (): Promise<void> => {
      throw new StatusError('Forbidden', 'cannot create');
    };
    return { ...options, requester: { ...options.requester, authorizeCreate } };
  };
  const verbs = creations.filter(([verb]) => verb !== 'create');

  test.each(verbs)('%s needs the right to create', async (_, write) => {
    const namespace = fresh();
    await expect(write(notAllowed(namespace), 'a')).rejects.toThrow('cannot create');
    await expect(write({ ...notAllowed(namespace), dryRun: true }, 'a')).rejects.toThrow('cannot create');
    expect(await stored(namespace, 'a')).toBeUndefined();
  });

  test.each(verbs)('%s needs none where the object is there', async (_, write) => {
    const namespace = fresh();
    await create(resource, robot('a'), asking(namespace, []), call);
    await write(notAllowed(namespace), 'a');
    expect(await stored(namespace, 'a')).toBeDefined();
  });
});

describe('a deletion', () => {
  test('is admitted with the old object, one by one in a collection', async () => {
    const namespace = fresh();
    for (const name of ['a', 'b']) await create(resource, robot(name), asking(namespace, []), call);
    const everything = { namespace, labels: undefined, fields: undefined, resourceVersion: undefined };
    const more = {
      resourceVersionMatch: undefined,
      limit: undefined,
      continue: undefined,
      sendInitialEvents: undefined,
    };
    const { requester } = asking(namespace, [recording]);
    await deleteCollection(
      resource,
      { list: { ...everything, ...more }, delete: { dryRun: false, requester }, workers: 1 },
      call,
    );
    expect(attempts.map(({ operation, name, oldObject }) => [operation, name, oldObject?.metadata.name])).toEqual([
      // As in kube-apiserver, a request for a collection names no object.
      ['DELETE', undefined, 'a'],
      ['DELETE', undefined, 'b'],
    ]);
    expect(await stored(namespace, 'a')).toBeUndefined();
  });

  test.each(['mutate', 'validate'])('takes nothing away when it is refused by %s', async (step) => {
    const namespace = fresh();
    await create(resource, robot('a'), asking(namespace, []), call);
    const { validate } = refusing('DELETE');
    const options = asking(namespace, [{ name: 'refusing', [step]: validate }]);
    await expect(deleteObject(resource, 'a', options, call)).rejects.toThrow('not today');
    expect(await stored(namespace, 'a')).toBeDefined();
  });
});
