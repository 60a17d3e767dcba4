/** Namespaces through two replicas on one etcd, each of which learns of the other's writes with a delay. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from './serve-kinds.ts';

const all = '/api/v1/namespaces';
const accountsIn = (namespace: string): string => `${all}/${namespace}/serviceaccounts`;
const account = (name: string, metadata: object = {}): KubeObject => ({ metadata: { name, ...metadata } });
const mergePatch = 'application/merge-patch+json';
const uidOf = ({ body }: JsonResponse): string | undefined => body.metadata.uid;

let etcd: RealEtcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

let run = 0;
const uniqueName = (): string => `team-${++run}`;

const waitUntilDeleted = (server: TestServer, path: string): Promise<true> =>
  until(`${path} is gone`, async () => (await server.request('GET', path)).status === 404 || undefined);

describe('a server with auto-provisioned namespaces', () => {
  let server: TestServer;
  let other: TestServer;
  beforeAll(async () => {
    server = await serveKinds(kinds, { etcd });
    other = await serveKinds(kinds, { etcd });
  });
  afterAll(async () => {
    await server.close();
    await other.close();
  });

  test("a new namespace is active, has the server's finalizer, and its name as a label", async () => {
    const name = uniqueName();
    const given = { metadata: { name, namespace: 'meaningless' }, status: { phase: 'Terminating' } };
    const { status, body } = await server.request('POST', all, given);
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        kind: 'Namespace',
        apiVersion: 'v1',
        metadata: { name, labels: { 'kubernetes.io/metadata.name': name } },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      },
    });
    expect(body.metadata).not.toHaveProperty('namespace');
    expect(body.metadata.managedFields).toMatchObject([{ fieldsV1: { 'f:metadata': { 'f:labels': {} } } }]);
    expect(JSON.stringify(body.metadata.managedFields)).not.toContain('f:status');
    expect((await other.request('GET', `${all}/${name}`)).body).toEqual(body);
    const found = await server.request('GET', `${all}?labelSelector=kubernetes.io%2Fmetadata.name%3D${name}`);
    expect(found.body.items).toHaveLength(1);
    expect(await server.request('POST', all, given)).toMatchObject({ status: 409, body: { reason: 'AlreadyExists' } });
  });

  test('the name of a namespace is a DNS label, given or generated', async () => {
    for (const name of ['a.b', 'UPPER', 'a'.repeat(64)])
      expect(await server.request('POST', all, { metadata: { name } })).toMatchObject({
        status: 422,
        body: {
          details: {
            kind: 'Namespace',
            causes: expect.arrayContaining([expect.objectContaining({ field: 'metadata.name' })]),
          },
        },
      });
    const { body } = await server.request('POST', all, { metadata: { generateName: 'team-' } });
    expect(body.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': body.metadata.name });
  });

  test('lists and watches select by name and phase, and by no unsupported field', async () => {
    const name = uniqueName();
    await server.request('POST', all, { metadata: { name } });
    const names = async (selector: string): Promise<(string | undefined)[]> => {
      const { body } = await server.request('GET', `${all}?fieldSelector=${encodeURIComponent(selector)}`);
      return (body.items ?? []).map(({ metadata }) => metadata.name);
    };
    expect(await names(`metadata.name=${name}`)).toEqual([name]);
    expect(await names('status.phase=Active')).toEqual(expect.arrayContaining(['default', name]));
    expect(await names('status.phase=Terminating')).not.toContain(name);
    expect(await server.request('GET', `${all}?fieldSelector=metadata.namespace%3D${name}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('field label not supported: metadata.namespace') },
    });
    const first = await server.request('GET', `${all}?limit=1`);
    const token = first.body.metadata as { continue?: string };
    const rest = await server.request('GET', `${all}?continue=${token.continue}`);
    expect(rest.body.items?.map(({ metadata }) => metadata.name)).toContain(name);
  });

  test('a write of a namespace changes neither its finalizers nor its status', async () => {
    const name = uniqueName();
    const { body } = await server.request('POST', all, { metadata: { name } });
    const replaced = await server.request('PUT', `${all}/${name}`, {
      ...body,
      metadata: { ...body.metadata, labels: { a: 'b' } },
      spec: { finalizers: [] },
      status: { phase: 'Terminating' },
    });
    expect(replaced).toMatchObject({
      status: 200,
      body: {
        metadata: { labels: { a: 'b', 'kubernetes.io/metadata.name': name } },
        spec: { finalizers: ['kubernetes'] },
        status: { phase: 'Active' },
      },
    });
    const applied = await server.request(
      'PATCH',
      `${all}/${name}?fieldManager=one`,
      JSON.stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name }, status: { phase: 'Terminating' } }),
      'application/apply-patch+yaml',
    );
    expect(applied).toMatchObject({ status: 200, body: { status: { phase: 'Active' } } });
    expect(JSON.stringify(applied.body.metadata.managedFields)).not.toContain('f:status');
  });

  test('each subresource of a namespace changes only its part', async () => {
    const name = uniqueName();
    const { body } = await server.request('POST', all, { metadata: { name } });
    const condition = { type: 'Quiet', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const patched = await server.request(
      'PATCH',
      `${all}/${name}/status`,
      { spec: { finalizers: [] }, status: { conditions: [condition] } },
      mergePatch,
    );
    expect(patched).toMatchObject({
      status: 200,
      body: { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active', conditions: [condition] } },
    });
    expect(patched.body.metadata.managedFields).toMatchObject([{}, { subresource: 'status' }]);
    expect(
      await server.request('PATCH', `${all}/${name}/status`, { status: { phase: 'Terminating' } }, mergePatch),
    ).toMatchObject({ status: 422, body: { details: { causes: [{ field: 'status.Phase' }] } } });
    const finalizers = ['kubernetes', 'example.com/more'];
    const finalized = await server.request('PUT', `${all}/${name}/finalize`, {
      ...body,
      metadata: { name },
      spec: { finalizers },
      status: {},
    });
    expect(finalized).toMatchObject({ status: 200, body: { spec: { finalizers }, status: { phase: 'Active' } } });
    expect((await server.request('GET', `${all}/${name}/status`)).body).toEqual(finalized.body);
    expect(await server.request('GET', `${all}/${name}/finalize`)).toMatchObject({ status: 405 });
    expect(
      await server.request('PUT', `${all}/${name}/finalize`, {
        ...body,
        metadata: { name },
        spec: { finalizers: ['x'] },
      }),
    ).toMatchObject({ status: 422, body: { details: { causes: [{ field: 'spec.finalizers[0]' }] } } });
    for (const part of ['status', 'finalize'])
      expect(await server.request('PUT', `${all}/absent/${part}`, { metadata: { name: 'absent' } })).toMatchObject({
        status: 404,
      });
  });

  test('unsupported operations on namespaces are rejected', async () => {
    expect(await server.request('DELETE', all)).toMatchObject({ status: 405 });
    expect(await server.request('GET', `${all}/a/namespaces`)).toMatchObject({ status: 404 });
    expect(await server.request('GET', `${all}/a/namespaces/a`)).toMatchObject({ status: 404 });
    expect(await server.request('GET', `${all}/default/nothing/of/that`)).toMatchObject({ status: 404 });
  });

  test('system namespaces exist and cannot be deleted', async () => {
    for (const name of ['default', 'kube-system', 'kube-public']) {
      await until(name, async () => (await server.request('GET', `${all}/${name}`)).status === 200 || undefined);
      expect(await server.request('DELETE', `${all}/${name}`)).toMatchObject({
        status: 403,
        body: {
          reason: 'Forbidden',
          message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
          details: { name, kind: 'namespaces' },
        },
      });
      expect((await server.request('GET', `${all}/${name}`)).body).toMatchObject({ status: { phase: 'Active' } });
    }
  });

  test('the first object in a namespace provisions it once, before itself', async () => {
    const namespace = uniqueName();
    const created = await Promise.all(
      Array.from({ length: 40 }, (_, at) =>
        (at % 2 ? server : other).request('POST', accountsIn(namespace), account(`a${at}`)),
      ),
    );
    expect(new Set(created.map(({ status }) => status))).toEqual(new Set([201]));
    const { body } = await server.request('GET', `${all}/${namespace}`);
    expect(body).toMatchObject({ status: { phase: 'Active' } });
    const versions = created.map((answer) => Number(answer.body.metadata.resourceVersion));
    expect(Number(body.metadata.resourceVersion)).toBeLessThan(Math.min(...versions));
    // One write for each object, and one for the namespace.
    expect(Math.max(...versions) - Number(body.metadata.resourceVersion)).toBe(created.length);
  });

  test('a creating apply and a creating replace provision the namespace, too', async () => {
    const [applied, replaced] = [uniqueName(), uniqueName()];
    const type = 'application/apply-patch+yaml';
    const configuration = JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'a' } });
    expect(
      await server.request('PATCH', `${accountsIn(applied)}/a?fieldManager=one`, configuration, type),
    ).toMatchObject({
      status: 201,
    });
    const event = { metadata: { name: 'e' }, involvedObject: { namespace: replaced } };
    expect(await server.request('PUT', `${all}/${replaced}/events/e`, event)).toMatchObject({ status: 201 });
    for (const name of [applied, replaced])
      expect(await server.request('GET', `${all}/${name}`)).toMatchObject({ status: 200 });
  });

  test('rejected requests and dry runs provision no namespace', async () => {
    const namespace = uniqueName();
    expect(await server.request('POST', accountsIn(namespace), account('Not A Name'))).toMatchObject({ status: 422 });
    expect(await server.request('POST', `${accountsIn(namespace)}?dryRun=All`, account('a'))).toMatchObject({
      status: 201,
    });
    expect(await server.request('PATCH', `${accountsIn(namespace)}/a`, {}, mergePatch)).toMatchObject({ status: 404 });
    expect(await server.request('GET', `${all}/${namespace}`)).toMatchObject({ status: 404 });
    expect(await server.request('POST', accountsIn('Not-A-Label'), account('a'))).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'metadata.namespace' }] } },
    });
  });

  /** Waits until the policy is enforced on writes of `resource` whose name begins with `denied-`. */
  const denyCreations = async (group: string, resource: string): Promise<() => Promise<unknown>> => {
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
    const bindings = policies.replace(/ies$/, 'ybindings');
    const name = `deny-${resource}`;
    const rule = { apiGroups: [group], apiVersions: ['*'], operations: ['CREATE'], resources: [resource] };
    const spec = {
      matchConstraints: { resourceRules: [rule] },
      validations: [{ expression: "!object.metadata.name.startsWith('denied-')" }],
    };
    expect(await server.request('POST', policies, { metadata: { name }, spec })).toMatchObject({ status: 201 });
    const binding = { metadata: { name }, spec: { policyName: name, validationActions: ['Deny'] } };
    expect(await server.request('POST', bindings, binding)).toMatchObject({ status: 201 });
    return () =>
      Promise.all([server.request('DELETE', `${policies}/${name}`), server.request('DELETE', `${bindings}/${name}`)]);
  };

  test('an object that admission rejects leaves no namespace', async () => {
    const allow = await denyCreations('', 'serviceaccounts');
    const namespace = uniqueName();
    expect(await server.request('POST', accountsIn(namespace), account('denied-a'))).toMatchObject({ status: 422 });
    expect(await server.request('GET', `${all}/${namespace}`)).toMatchObject({ status: 404 });
    await allow();
  });

  test('a policy about namespaces decides on provisioned ones, too', async () => {
    const allow = await denyCreations('', 'namespaces');
    const namespace = `denied-${uniqueName()}`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => server.request('POST', accountsIn(namespace), account(`a${at}`))),
    );
    for (const answer of answers)
      expect(answer).toMatchObject({ status: 422, body: { details: { kind: 'namespaces', name: namespace } } });
    expect(await server.request('GET', `${all}/${namespace}`)).toMatchObject({ status: 404 });
    expect((await server.request('GET', accountsIn(namespace))).body.items).toEqual([]);
    await allow();
    expect(await server.request('POST', accountsIn(namespace), account('a'))).toMatchObject({ status: 201 });
  });

  test('the deletion of a namespace deletes all of its objects, then the namespace', async () => {
    const namespace = uniqueName();
    const about = { involvedObject: { namespace } };
    for (let at = 0; at < 30; at++) {
      await server.request('POST', accountsIn(namespace), account(`a${at}`));
      await server.request('POST', `${all}/${namespace}/events`, { ...about, metadata: { name: `e${at}` } });
    }
    const neighbour = `${namespace}-not`;
    await server.request('POST', accountsIn(neighbour), account('stays'));
    const deleted = await server.request('DELETE', `${all}/${namespace}`);
    expect(deleted).toMatchObject({
      status: 200,
      body: {
        kind: 'Namespace',
        metadata: { deletionTimestamp: expect.any(String) },
        status: { phase: 'Terminating' },
      },
    });
    expect(deleted.body.metadata).not.toHaveProperty('deletionGracePeriodSeconds');
    await waitUntilDeleted(server, `${all}/${namespace}`);
    for (const plural of ['serviceaccounts', 'events'])
      expect((await server.request('GET', `${all}/${namespace}/${plural}`)).body.items).toEqual([]);
    expect(await server.request('GET', `${accountsIn(neighbour)}/stays`)).toMatchObject({ status: 200 });
  });

  test('a terminating namespace reports what remains, accepts no new objects, and can be deleted again', async () => {
    const namespace = uniqueName();
    const held = account('held', { finalizers: ['example.com/hold'] });
    await server.request('POST', accountsIn(namespace), held);
    await server.request('POST', accountsIn(namespace), account('free'));
    await server.request('DELETE', `${all}/${namespace}`);
    const conditions = await until('its conditions', async () => {
      const { body } = await server.request('GET', `${all}/${namespace}`);
      return (body.status as { conditions?: object[] }).conditions;
    });
    expect(conditions).toMatchObject([
      { type: 'NamespaceDeletionDiscoveryFailure', status: 'False' },
      { type: 'NamespaceDeletionGroupVersionParsingFailure', status: 'False' },
      { type: 'NamespaceDeletionContentFailure', status: 'False', reason: 'ContentDeleted' },
      {
        type: 'NamespaceContentRemaining',
        status: 'True',
        reason: 'SomeResourcesRemain',
        message: 'Some resources are remaining: serviceaccounts. has 1 resource instances',
      },
      {
        type: 'NamespaceFinalizersRemaining',
        status: 'True',
        reason: 'SomeFinalizersRemain',
        message: expect.stringContaining('example.com/hold in 1 resource instances'),
      },
    ]);
    expect(await server.request('GET', `${accountsIn(namespace)}/free`)).toMatchObject({ status: 404 });
    for (const query of ['', '?dryRun=All'])
      expect(await other.request('POST', accountsIn(namespace) + query, account('late'))).toMatchObject({
        status: 403,
        body: {
          reason: 'Forbidden',
          message: `serviceaccounts "late" is forbidden: unable to create new content in namespace ${namespace} because it is being terminated`,
          details: {
            name: 'late',
            kind: 'serviceaccounts',
            causes: [
              {
                reason: 'NamespaceTerminating',
                message: `namespace ${namespace} is being terminated`,
                field: 'metadata.namespace',
              },
            ],
          },
        },
      });
    const again = await server.request('DELETE', `${all}/${namespace}`);
    expect(again).toMatchObject({ status: 200, body: { status: { phase: 'Terminating' } } });
    const patch = { metadata: { finalizers: null } };
    expect(await server.request('PATCH', `${accountsIn(namespace)}/held`, patch, mergePatch)).toMatchObject({
      status: 200,
    });
    await waitUntilDeleted(server, `${all}/${namespace}`);
  });

  test('finalizers of other controllers keep the namespace itself, too', async () => {
    const name = uniqueName();
    await server.request('POST', all, { metadata: { name, finalizers: ['example.com/hold'] } });
    await server.request('DELETE', `${all}/${name}`);
    const spec = await until('it is empty', async () => {
      const { body } = await server.request('GET', `${all}/${name}`);
      return Object.keys(body.spec as object).length === 0 || undefined;
    });
    expect(spec).toBe(true);
    await server.request('PATCH', `${all}/${name}`, { metadata: { finalizers: null } }, mergePatch);
    await waitUntilDeleted(server, `${all}/${name}`);
  });

  test('a recreated namespace is a new object, and its objects are kept', async () => {
    const namespace = uniqueName();
    const first = await server.request('POST', all, { metadata: { name: namespace } });
    await server.request('DELETE', `${all}/${namespace}`);
    await waitUntilDeleted(server, `${all}/${namespace}`);
    expect(await other.request('POST', accountsIn(namespace), account('kept'))).toMatchObject({ status: 201 });
    const second = await other.request('GET', `${all}/${namespace}`);
    expect(uidOf(second)).not.toBe(uidOf(first));
    expect(await server.request('GET', `${accountsIn(namespace)}/kept`)).toMatchObject({ status: 200 });
  });

  test('a namespace can own objects in any namespace, which are garbage collected after it', async () => {
    const [name, elsewhere] = [uniqueName(), uniqueName()];
    const { body } = await server.request('POST', all, { metadata: { name } });
    const owner = { apiVersion: 'v1', kind: 'Namespace', name, uid: body.metadata.uid };
    await server.request('POST', accountsIn(elsewhere), account('owned', { ownerReferences: [owner] }));
    await server.request('POST', accountsIn(elsewhere), account('free'));
    await server.request('DELETE', `${all}/${name}?propagationPolicy=Foreground`);
    await waitUntilDeleted(server, `${all}/${name}`);
    expect(await server.request('GET', `${accountsIn(elsewhere)}/owned`)).toMatchObject({ status: 404 });
    expect(await server.request('GET', `${accountsIn(elsewhere)}/free`)).toMatchObject({ status: 200 });
  });
});

describe('a server without auto-provisioning', () => {
  let servers: readonly TestServer[];
  beforeAll(async () => {
    const flags = ['--enable-admission-plugins=NamespaceLifecycle'];
    servers = [await serveKinds(kinds, { etcd, flags }), await serveKinds(kinds, { etcd, flags })];
  });
  afterAll(async () => {
    for (const server of servers) await server.close();
  });

  test('accepts objects only in existing namespaces', async () => {
    const namespace = uniqueName();
    const [server, other] = servers as [TestServer, TestServer];
    for (const query of ['', '?dryRun=All'])
      expect(await server.request('POST', accountsIn(namespace) + query, account('a'))).toMatchObject({
        status: 404,
        body: {
          reason: 'NotFound',
          message: `namespaces "${namespace}" not found`,
          details: { name: namespace, kind: 'namespaces' },
        },
      });
    await other.request('POST', all, { metadata: { name: namespace } });
    // Immediately, although this replica may not have received the event yet.
    expect(await server.request('POST', accountsIn(namespace), account('a'))).toMatchObject({ status: 201 });
    expect(await server.request('DELETE', `${all}/kube-system`)).toMatchObject({ status: 403 });
  });

  test('leaves no objects in a deleted namespace, whatever is created during its deletion', async () => {
    for (let round = 0; round < 5; round++) {
      const namespace = uniqueName();
      const [server] = servers as [TestServer, TestServer];
      await server.request('POST', all, { metadata: { name: namespace } });
      const codes = new Set<number>();
      let over = false;
      const write = async (through: TestServer, writer: number): Promise<void> => {
        for (let at = 0; !over; at++)
          codes.add((await through.request('POST', accountsIn(namespace), account(`w${writer}-${at}`))).status);
      };
      const writers = [0, 1, 2, 3, 4, 5].map((at) => write(servers[at % 2] as TestServer, at));
      await until('some creations to succeed', () => codes.has(201) || undefined);
      await server.request('DELETE', `${all}/${namespace}`);
      await waitUntilDeleted(server, `${all}/${namespace}`);
      await until('all replicas to reject creations', () => codes.has(404) || undefined);
      over = true;
      await Promise.all(writers);
      expect([...codes].filter((code) => ![201, 403, 404].includes(code))).toEqual([]);
      expect((await server.request('GET', accountsIn(namespace))).body.items).toEqual([]);
    }
  });
});
