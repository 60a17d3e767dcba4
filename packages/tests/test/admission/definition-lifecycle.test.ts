import { expect, test } from '@jest/globals';
import { callUntil, runSync, systemClock as clock, toSyncTask } from '@cluster-apiserver/base';
import { customKind } from '@cluster-apiserver/custom-resources';
import { createAdmission } from '@cluster-apiserver/gates';
import type { CustomResourceDefinition } from '@cluster-apiserver/kinds';
import { decode } from '@cluster-apiserver/model/schema';
import { createDefinitionLifecycle } from '@cluster-apiserver/policies';
import { create, deleteObject, patch, type Registry, type Resource } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { disturbedStore } from '../../../controllers/test/disturbed-store.ts';
import { createObject, openTestRegistry, resourceIn } from '../../../controllers/test/objects.ts';

const call = callUntil(Number.POSITIVE_INFINITY);
const name = 'things.example.com';
const names = { plural: 'things', kind: 'Thing' };
const schema = { openAPIV3Schema: { type: 'object' } };
const spec = {
  group: 'example.com',
  scope: 'Namespaced',
  names,
  versions: [{ name: 'v1', served: true, storage: true, schema }],
};

/** Creates an object as a client of this replica. */
function make({ api }: Registry, resource: Resource): Promise<unknown> {
  const requester = {
    admission: createAdmission([createDefinitionLifecycle(api)]),
    user: { name: 'somebody', groups: [] },
    subresource: undefined,
    options: { kind: 'CreateOptions' } as const,
    call,
    warn: () => {},
    annotate: () => {},
    authorizeCreate: () => {},
  };
  const types = { apiVersion: 'example.com/v1', kind: 'Thing' };
  const draft = decode(resource.kind.schema, { ...types, metadata: { name: 'a' } }, () => {});
  return create(resource, draft, { namespace: 'n', dryRun: false, manager: 'm', warn: () => {}, requester }, call);
}

test('no object is created by a replica that does not know yet how its definition has changed', async () => {
  const memory = memoryStore(clock);
  const store = disturbedStore(memory);
  const [informed, late] = [openTestRegistry(memory, clock), openTestRegistry(store, clock)];
  const definitions = resourceIn(informed, 'customresourcedefinitions');
  const definition = await createObject(definitions, { name }, { spec } as object);
  const status = { ...(definition as CustomResourceDefinition).status, acceptedNames: names };
  const kind = runSync(customKind({ ...(definition as CustomResourceDefinition), status }));
  await Promise.all([informed.api.add(kind), late.api.add(kind)]);
  const release = store.hold();
  // A change that is no deletion only delays it.
  const change = toSyncTask((object: object) => ({ ...object, status }));
  const quiet = { namespace: undefined, dryRun: false, manager: 'm', warn: () => {}, unknownFields: () => {} };
  await patch(definitions, name, { ...quiet, change }, call);
  const delayed = make(late, resourceIn(late, 'things'));
  release();
  await delayed;
  const releaseAgain = store.hold();
  await deleteObject(definitions, name, { namespace: undefined, dryRun: false }, call);
  await deleteObject(resourceIn(informed, 'things'), 'a', { namespace: 'n', dryRun: false }, call);
  const refused = make(late, resourceIn(late, 'things'));
  releaseAgain();
  await expect(refused).rejects.toThrow(
    'things.example.com "a" is forbidden: create not allowed while custom resource definition is terminating',
  );
  await Promise.all([informed.cache.close(), late.cache.close()]);
  memory.close();
});
