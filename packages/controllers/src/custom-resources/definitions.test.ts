import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { seededRandom, toSyncTask } from '@cluster-apiserver/base';
import type { CustomResourceDefinition } from '@cluster-apiserver/kinds';
import { Problems } from '@cluster-apiserver/model';
import { fieldSubresourceOf } from '@cluster-apiserver/model/kind';
import { deleteCollection, patch, type Registry, type Resource } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { revision } from '@cluster-apiserver/storage';
import { type FakeClock, fakeClock } from '@cluster-apiserver/testkit/fake-clock';
import { type DisturbedStore, disturbedStore } from '../../test/disturbed-store.ts';
import {
  changeObject,
  createObject,
  listObjects,
  openTestRegistry,
  readObject,
  removeObject,
  resourceIn,
  untimed,
} from '../../test/objects.ts';
import { createRecordedLog, type LoggedEvent } from '../../test/recorded-log.ts';
import { beginTerm } from '../../test/term.ts';
import { quietTurns, until } from '../../test/turns.ts';
import { requireKind } from '../object-of-kind.ts';
import { cleanUpDefinitions } from './clean-up-definitions.ts';
import { establishDefinitions } from './establish-definitions.ts';
import { ServedDefinitions } from './serve-definitions.ts';

let clock: FakeClock;
let memory: ReturnType<typeof memoryStore>;
let store: DisturbedStore;
let registry: Registry;
let closing: (() => Promise<void>)[];

beforeEach(() => {
  clock = fakeClock();
  memory = memoryStore(fakeClock());
  store = disturbedStore(memory);
  registry = openTestRegistry(store, clock);
  closing = [];
});
afterEach(async () => {
  for (const close of closing) await close();
  await registry.cache.close();
  memory.close();
});

const definitions = (): Resource => resourceIn(registry, 'customresourcedefinitions');

/** Serves the kinds, and returns what is logged. */
function serve(conversionOf: () => undefined = () => undefined): LoggedEvent[] {
  const { log, events } = createRecordedLog();
  const served = new ServedDefinitions(definitions(), {
    api: registry.api,
    clock,
    random: seededRandom(1),
    log,
    conversionOf,
    caughtUp: () => {},
  });
  closing.unshift(() => served.close());
  return events;
}

/** Begins a term of the controllers. */
function work(): void {
  for (const controller of [establishDefinitions, cleanUpDefinitions])
    closing.unshift(beginTerm(controller, { api: registry.api, clock }).stop);
}

const schema = { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } };
const version = { name: 'v1', served: true, storage: true, schema };

interface Wanted {
  readonly plural: string;
  readonly kind: string;
  readonly names?: object;
  readonly spec?: object;
  readonly group?: string;
  readonly metadata?: object;
}

const nameOf = ({ plural, group = 'example.com' }: Pick<Wanted, 'plural' | 'group'>): string => `${plural}.${group}`;

async function define(wanted: Wanted): Promise<void> {
  const { plural, kind, names, spec, group = 'example.com', metadata } = wanted;
  await createObject(definitions(), { name: nameOf(wanted) }, {
    metadata,
    spec: { group, scope: 'Namespaced', names: { plural, kind, ...names }, versions: [version], ...spec },
  } as object);
}

async function read(plural: string, group?: string): Promise<CustomResourceDefinition | undefined> {
  const found = await readObject(definitions(), { name: nameOf({ plural, ...(group && { group }) }) });
  return found && requireKind(found, 'CustomResourceDefinition');
}

/** The reasons of its conditions, by their types. */
async function reasons(plural: string, group?: string): Promise<Record<string, string>> {
  const { conditions } = (await read(plural, group))?.status ?? {};
  return Object.fromEntries((conditions ?? []).map(({ type, status, reason }) => [type, `${status}: ${reason}`]));
}

const established = { NamesAccepted: 'True: NoConflicts', Established: 'True: InitialNamesAccepted' };
const whenEstablished = (plural: string): Promise<void> =>
  until(`${plural} is established`, async () => (await reasons(plural))['Established']?.startsWith('True') ?? false);
const gone = (plural: string): Promise<void> =>
  until(`${plural} is gone`, async () => (await read(plural)) === undefined);
const remove = (plural: string): Promise<void> => removeObject(definitions(), { name: nameOf({ plural }) });

const make = (plural: string, name: string, metadata: object = {}): Promise<unknown> =>
  createObject(resourceIn(registry, plural), { namespace: 'a', name }, { metadata });
const release = (plural: string, name: string): Promise<void> =>
  changeObject(resourceIn(registry, plural), { namespace: 'a', name }, ({ metadata, ...rest }) => ({
    ...rest,
    metadata: { ...metadata, finalizers: [] },
  }));
const update = (plural: string, change: (definition: CustomResourceDefinition) => object): Promise<void> =>
  changeObject(definitions(), { name: nameOf({ plural }) }, (object) => ({
    ...object,
    ...change(requireKind(object, 'CustomResourceDefinition')),
  }));

async function changeStatus(plural: string, status: object): Promise<void> {
  const resource = definitions();
  const subresource = fieldSubresourceOf(resource.kind, 'status');
  const options = { namespace: undefined, dryRun: false, manager: 'a-test', warn: () => {}, unknownFields: () => {} };
  const change = toSyncTask((object: object) => ({ ...object, status }));
  await patch(resource, nameOf({ plural }), { ...options, subresource, change }, untimed);
}

describe('a definition', () => {
  test('that a restored backup does not have is no longer served, and one of it is', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    const backup = await memory.readLatestRevision(untimed);
    await remove('things');
    await gone('things');
    await define({ plural: 'others', kind: 'Other' });
    await whenEstablished('others');
    memory.restore(backup, revision(1_000));
    const isServed = (kind: string): boolean => registry.api.byGroupKind('example.com', kind) !== undefined;
    await until('the definitions of the backup', () => {
      clock.advance(100);
      return isServed('Thing') && !isServed('Other');
    });
  });

  test('is established when its kind is served, in two writes', async () => {
    work();
    await define({ plural: 'things', kind: 'Thing', names: { shortNames: ['th'], categories: ['all'] } });
    await until('it has names', async () => (await reasons('things'))['NamesAccepted'] !== undefined);
    await quietTurns();
    expect(await reasons('things')).toEqual({ ...established, Established: 'False: Installing' });
    serve();
    await whenEstablished('things');
    await quietTurns();
    expect(await reasons('things')).toEqual(established);
    expect((await read('things'))?.status).toMatchObject({
      acceptedNames: {
        plural: 'things',
        singular: 'thing',
        kind: 'Thing',
        listKind: 'ThingList',
        shortNames: ['th'],
        categories: ['all'],
      },
      storedVersions: ['v1'],
    });
    expect(store.asked.writes).toBe(2);
  });

  test('keeps its status when a client writes the rest', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    await update('things', ({ status }) => ({ status: { ...status, conditions: null } }));
    await quietTurns();
    expect(await reasons('things')).toEqual(established);
  });

  test('gets back the status that a client has emptied', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    const empty = { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] };
    await changeStatus('things', empty);
    await whenEstablished('things');
    await quietTurns();
    expect(await reasons('things')).toEqual(established);
  });

  test('has at most 100 conditions, and those that it has may stay', async () => {
    await define({ plural: 'things', kind: 'Thing' });
    const status = async (count: number): Promise<void> => {
      const conditions = Array.from({ length: count }, (_, at) => ({ type: `T${at}`, status: 'True' }));
      await changeStatus('things', { conditions, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] });
    };
    await status(100);
    const before = await read('things');
    await expect(status(101)).rejects.toThrow('status.conditions: Too many: 101: must have at most 100 items');
    expect(await read('things')).toEqual(before);
    const problems = new Problems();
    const crowded = { status: { conditions: Array.from({ length: 200 }, () => ({})) } } as never;
    definitions().kind.validateCounts?.(crowded, crowded, problems);
    expect(problems.errors).toEqual([]);
  });

  test('that cannot be served is logged when that begins, changes and ends', async () => {
    let problem: string | undefined = 'one';
    let tries = 0;
    const events = serve(() => {
      tries++;
      if (problem !== undefined) throw new Error(problem);
      return undefined;
    });
    work();
    await define({ plural: 'things', kind: 'Thing' });
    const fewMore = async (): Promise<void> => {
      const wanted = tries + 3;
      await until('it is tried again', async () => {
        clock.advance(5_000);
        return tries >= wanted;
      });
    };
    await fewMore();
    problem = 'other';
    await fewMore();
    problem = undefined;
    await until('it is served', async () => {
      clock.advance(5_000);
      return (await reasons('things'))['Established']?.startsWith('True') ?? false;
    });
    const definition = 'things.example.com';
    expect(events.filter(({ type }) => type !== 'synced')).toEqual([
      { type: 'failed', definition, error: new Error('one') },
      { type: 'failed', definition, error: new Error('other') },
      { type: 'serving a custom resource no longer fails', definition },
    ]);
  });

  test('that another server has stored shows that its schema is not structural, until that is mended', async () => {
    const spec = { group: 'example.com', scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' } };
    const schema = { openAPIV3Schema: { type: 'object', properties: { spec: {} } } };
    // Without a uid, which other servers give. This one would refuse it.
    const stored = {
      kind: 'CustomResourceDefinition',
      apiVersion: 'apiextensions.k8s.io/v1beta1',
      metadata: { name: nameOf({ plural: 'things' }), generation: 1 },
      spec: { ...spec, version: 'v1', validation: schema, preserveUnknownFields: false },
    };
    const key = `/registry/apiextensions.k8s.io/customresourcedefinitions/${nameOf({ plural: 'things' })}`;
    await memory.create(key, Buffer.from(JSON.stringify(stored)), {}, untimed);
    serve();
    work();
    await until('the condition', async () => {
      return (await reasons('things'))['NonStructuralSchema'] === 'True: Violations';
    });
    await update('things', ({ spec }) => ({ spec: { ...spec, versions: [version] } }));
    await until('no condition', async () => (await reasons('things'))['NonStructuralSchema'] === undefined);
  });

  test('of a group of Kubernetes shows whether it is approved', async () => {
    work();
    const metadata = { annotations: { 'api-approved.kubernetes.io': 'unapproved, a trial' } };
    await define({ plural: 'things', kind: 'Thing', group: 'x.k8s.io', metadata });
    await until('it is shown', async () => (await reasons('things', 'x.k8s.io'))['NamesAccepted'] !== undefined);
    expect(await reasons('things', 'x.k8s.io')).toMatchObject({
      KubernetesAPIApprovalPolicyConformant: 'False: UnapprovedAnnotation',
    });
  });

  test('with a bundle that holds no certificate is not established until that is mended', async () => {
    work();
    serve();
    const clientConfig = { url: 'https://a.example.com', caBundle: Buffer.from('none').toString('base64') };
    const webhook = { clientConfig, conversionReviewVersions: ['v1'] };
    await define({ plural: 'things', kind: 'Thing', spec: { conversion: { strategy: 'Webhook', webhook } } });
    await until('it is refused', async () => (await reasons('things'))['Established'] === 'False: InvalidCABundle');
    await quietTurns();
    expect(await reasons('things')).toMatchObject({ Established: 'False: InvalidCABundle' });
    await update('things', ({ spec }) => ({ spec: { ...spec, conversion: { strategy: 'None' } } }));
    await whenEstablished('things');
  });
});

describe('a name that another definition of the group has', () => {
  test.each<[string, object, string]>([
    ['a kind', { kind: 'Thing', listKind: 'OtherList' }, 'KindConflict'],
    ['a listKind', { listKind: 'ThingList' }, 'ListKindConflict'],
    ['a kind that is a listKind', { kind: 'ThingList', listKind: 'Things' }, 'KindConflict'],
    ['a singular', { singular: 'thing' }, 'SingularConflict'],
    ['short names', { shortNames: ['th', 'ot'] }, 'ShortNamesConflict'],
    ['several, of which the last is reported', { singular: 'thing', kind: 'Thing' }, 'ListKindConflict'],
  ])('is not accepted until it is free: %s', async (_, names, reason) => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing', names: { shortNames: ['th'] } });
    await whenEstablished('things');
    await define({ plural: 'others', kind: 'Other', names });
    await define({ plural: 'others', kind: 'Other', names, group: 'elsewhere.example.com' });
    await until('it is refused', async () => (await reasons('others'))['NamesAccepted'] === `False: ${reason}`);
    expect(await reasons('others')).toEqual({ NamesAccepted: `False: ${reason}`, Established: 'False: NotAccepted' });
    expect((await read('others'))?.status.acceptedNames.shortNames).toBeUndefined();
    await until('it is no conflict elsewhere', async () => {
      return (await reasons('others', 'elsewhere.example.com'))['Established'] === established.Established;
    });
    await remove('things');
    await gone('things');
    await whenEstablished('others');
  });

  test('belongs to one of two that come at a time', async () => {
    for (let at = 0; at < 10; at++) await define({ plural: `things${at}`, kind: 'Thing' });
    work();
    serve();
    await until('all are decided', async () => {
      const all = await listObjects(definitions());
      return all.every((one) => requireKind(one, 'CustomResourceDefinition').status.conditions !== null);
    });
    await quietTurns();
    const all = await Promise.all(Array.from({ length: 10 }, (_, at) => reasons(`things${at}`)));
    expect(all.filter(({ Established }) => Established === established.Established)).toHaveLength(1);
    expect(all.filter(({ NamesAccepted }) => NamesAccepted === 'False: ListKindConflict')).toHaveLength(9);
  });

  test('is not accepted while one of them cannot be read', async () => {
    const unlock = store.lock('/registry/apiextensions.k8s.io/customresourcedefinitions/things.example.com');
    await define({ plural: 'things', kind: 'Thing' });
    serve();
    work();
    await define({ plural: 'others', kind: 'Other' });
    await define({ plural: 'others', kind: 'Other', group: 'elsewhere.example.com' });
    await until('it is no conflict elsewhere', async () => {
      return (await reasons('others', 'elsewhere.example.com'))['Established'] === established.Established;
    });
    expect(await reasons('others')).toEqual({});
    unlock();
    await update('things', ({ metadata }) => ({ metadata: { ...metadata, labels: { a: 'b' } } }));
    await whenEstablished('things');
    clock.advance(60_000);
    await whenEstablished('others');
  });

  test('leaves an established definition its former names', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing', names: { shortNames: ['th'] } });
    await define({ plural: 'others', kind: 'Other', names: { shortNames: ['ot'] } });
    await Promise.all([whenEstablished('things'), whenEstablished('others')]);
    await update('others', ({ spec }) => ({ spec: { ...spec, names: { ...spec.names, shortNames: ['th'] } } }));
    await until(
      'it is refused',
      async () => (await reasons('others'))['NamesAccepted'] === 'False: ShortNamesConflict',
    );
    expect(await reasons('others')).toMatchObject({ Established: established.Established });
    expect((await read('others'))?.status.acceptedNames.shortNames).toEqual(['ot']);
    await update('things', ({ spec }) => ({ spec: { ...spec, names: { ...spec.names, shortNames: [] } } }));
    await until('it is accepted', async () => (await reasons('others'))['NamesAccepted'] === 'True: NoConflicts');
  });
});

describe('a definition that is deleted', () => {
  test('takes its objects along', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    for (let at = 0; at < 50; at++) await make('things', `t${at}`);
    await remove('things');
    await gone('things');
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    expect(await listObjects(resourceIn(registry, 'things'))).toEqual([]);
  });

  test('goes at once if it was never established', async () => {
    await define({ plural: 'things', kind: 'Thing' });
    await remove('things');
    expect(await reasons('things')).toEqual({ Terminating: 'True: InstanceDeletionPending' });
    expect((await read('things'))?.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    work();
    serve();
    await gone('things');
  });

  test('waits for its kind to be served if there may be objects', async () => {
    serve();
    work();
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    await make('things', 'a');
    for (const close of closing) await close();
    closing = [];
    await remove('things');
    work();
    await quietTurns();
    await gone('things');
  });

  test('shows that its kind is not served', async () => {
    work();
    await define({ plural: 'things', kind: 'Thing' });
    await until('its names are accepted', async () => (await reasons('things'))['NamesAccepted'] !== undefined);
    await remove('things');
    await until('it shows', async () => (await reasons('things'))['Terminating'] === 'True: InstanceDeletionFailed');
    serve();
    await gone('things');
  });

  test('sees that its objects have gone while its kind was loaded again', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    await make('things', 'held', { finalizers: ['example.com/x'] });
    await remove('things');
    await until(
      'it waits',
      async () => (await reasons('things'))['Terminating'] === 'True: InstanceDeletionInProgress',
    );
    const before = resourceIn(registry, 'things');
    await update('things', ({ spec: changed }) => ({
      spec: { ...changed, versions: [{ ...version, schema: { openAPIV3Schema: { type: 'object' } } }] },
    }));
    await until('it is loaded again', () => resourceIn(registry, 'things') !== before);
    await release('things', 'held');
    await gone('things');
  });

  test('waits for finalizers of objects, and meanwhile others go', async () => {
    work();
    serve();
    const held = ['as', 'bs', 'cs', 'ds', 'es', 'fs'];
    for (const plural of held) {
      await define({ plural, kind: plural.toUpperCase() });
      await whenEstablished(plural);
      await make(plural, 'held', { finalizers: ['example.com/x'] });
      await remove(plural);
    }
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    await make('things', 'a');
    await remove('things');
    await gone('things');
    for (const plural of held)
      expect(await reasons(plural)).toMatchObject({ Terminating: 'True: InstanceDeletionInProgress' });
    const before = store.asked.writes;
    clock.advance(600_000);
    await quietTurns();
    expect(store.asked.writes).toBe(before);
    for (const plural of held) await release(plural, 'held');
    for (const plural of held) await gone(plural);
  });

  test('with a finalizer of its own shows that its objects are gone', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing', metadata: { finalizers: ['example.com/x'] } });
    await whenEstablished('things');
    await make('things', 'a');
    await remove('things');
    await until(
      'it shows',
      async () => (await reasons('things'))['Terminating'] === 'False: InstanceDeletionCompleted',
    );
    expect((await read('things'))?.metadata.finalizers).toEqual(['example.com/x']);
    await remove('things');
    await quietTurns();
    expect(await reasons('things')).toMatchObject({ Terminating: 'False: InstanceDeletionCompleted' });
  });

  test('is cleaned up if it goes with a collection', async () => {
    work();
    serve();
    await define({ plural: 'things', kind: 'Thing' });
    await whenEstablished('things');
    await make('things', 'held', { finalizers: ['example.com/x'] });
    const selection = { namespace: undefined, labels: undefined, fields: undefined };
    const page = { limit: undefined, continue: undefined, sendInitialEvents: undefined };
    const versions = { resourceVersion: undefined, resourceVersionMatch: undefined };
    await deleteCollection(
      definitions(),
      { list: { ...selection, ...page, ...versions }, delete: { dryRun: false }, workers: 1 },
      untimed,
    );
    await until(
      'its objects go',
      async () => (await reasons('things'))['Terminating'] === 'True: InstanceDeletionInProgress',
    );
    await release('things', 'held');
    await gone('things');
  });

  test('leaves the objects of a kind of the server that it names alone', async () => {
    work();
    serve();
    const group = 'rbac.authorization.k8s.io';
    const metadata = { annotations: { 'api-approved.kubernetes.io': 'unapproved' } };
    await createObject(resourceIn(registry, 'roles'), { namespace: 'a', name: 'a' }, {});
    await define({ plural: 'roles', kind: 'Mine', group, metadata });
    await until(
      'it is refused',
      async () => (await reasons('roles', group))['NamesAccepted'] === 'False: PluralConflict',
    );
    await removeObject(definitions(), { name: `roles.${group}` });
    await until('it is gone', async () => (await read('roles', group)) === undefined);
    expect(await listObjects(resourceIn(registry, 'roles'))).toHaveLength(1);
  });
});
