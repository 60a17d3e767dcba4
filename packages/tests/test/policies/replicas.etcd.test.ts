/**
 * Policies with two replicas on one etcd: active immediately at the replica of the write, and a moment later at the
 * other.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import type { JsonResponse } from '@cluster-apiserver/testkit/json-response';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

const registration = '/apis/admissionregistration.k8s.io/v1';
const policies = `${registration}/validatingadmissionpolicies`;
const bindings = `${registration}/validatingadmissionpolicybindings`;
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const merge = 'application/merge-patch+json';

const matchConstraints = {
  resourceRules: [
    { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE', 'UPDATE'], resources: ['serviceaccounts'] },
  ],
};
const policy = (name: string, spec: object): object => ({ metadata: { name }, spec: { matchConstraints, ...spec } });
const binding = (name: string): object => ({
  metadata: { name },
  spec: { policyName: name, validationActions: ['Deny'] },
});
const denying = (message: string): object => ({ validations: [{ expression: 'false', message }] });

let etcd: RealEtcd;
let server: TestServer;
let other: TestServer;
beforeAll(async () => {
  etcd = await startEtcd();
  server = await serveKinds(kinds, { etcd });
  other = await serveKinds(kinds, { etcd });
});
afterAll(async () => {
  await server.close();
  await other.close();
  await etcd.stop();
});

const write = (through: TestServer): Promise<JsonResponse> =>
  through.request('POST', `${accounts}?dryRun=All`, { metadata: { name: 'a' } });
const messageOf = ({ body }: JsonResponse): string => (body.message ?? '').replace(/^.*denied request: /s, '');

test('a policy that changes under load applies immediately at one replica, and soon at the other', async () => {
  const faults: string[] = [];
  let acknowledged: string | undefined;
  let isOver = false;
  const writing = async (): Promise<void> => {
    while (!isOver) {
      const before = acknowledged;
      const found = messageOf(await write(server));
      if (before !== undefined && before === acknowledged && found !== before) faults.push(`${found}, not ${before}`);
    }
  };
  const writeThroughOther = async (): Promise<void> => {
    while (!isOver) await write(other);
  };
  await server.request('POST', policies, policy('changing', denying('at first')));
  await server.request('POST', bindings, binding('changing'));
  const work = [writing(), writing(), writeThroughOther()];
  for (let round = 0; round < 15; round++) {
    const message = `round ${round}`;
    acknowledged = undefined;
    await server.request('PATCH', `${policies}/changing`, { spec: denying(message) }, merge);
    acknowledged = message;
    await until(
      'the other replica to apply the policy',
      async () => messageOf(await write(other)) === message || undefined,
    );
  }
  acknowledged = undefined;
  await server.request('DELETE', `${bindings}/changing`);
  acknowledged = '';
  expect((await write(server)).status).toBe(201);
  await until('the other replica to admit', async () => (await write(other)).status === 201 || undefined);
  isOver = true;
  await Promise.all(work);
  expect(faults).toEqual([]);
  await server.request('DELETE', `${policies}/changing`);
});

test('a starting replica applies policies from its first write on', async () => {
  await server.request('POST', policies, policy('before', denying('stored before')));
  await server.request('POST', bindings, binding('before'));
  const late = await serveKinds(kinds, { etcd });
  try {
    expect(messageOf(await write(late))).toBe('stored before');
  } finally {
    await late.close();
    await server.request('DELETE', `${bindings}/before`);
    await server.request('DELETE', `${policies}/before`);
  }
});

test('authorizer checks in expressions use the authorizers, and always-allowed paths are not permissions', async () => {
  const validations = [
    { expression: "authorizer.path('/healthz').check('get').allowed()", message: 'masters may' },
    {
      expression: "authorizer.serviceAccount('default', 'a').path('/healthz').check('get').allowed()",
      message: 'others may not',
    },
  ];
  await server.request('POST', policies, policy('asking', { validations }));
  await server.request('POST', bindings, binding('asking'));
  expect(messageOf(await write(server))).toBe('others may not');
  await server.request('DELETE', `${bindings}/asking`);
  await server.request('DELETE', `${policies}/asking`);
});

describe('type checks of a policy', () => {
  const statusOf = (name: string): Promise<object> =>
    until(`${name} is checked`, async () => {
      const { body } = await server.request('GET', `${policies}/${name}`);
      const status = body['status'] as { readonly observedGeneration?: number };
      return status.observedGeneration === body.metadata.generation ? status : undefined;
    });

  test('run once for each generation', async () => {
    const spec = { validations: [{ expression: 'object.metadata.nam == "a"' }, { expression: 'object.secrets == 1' }] };
    await server.request('POST', policies, policy('checked', spec));
    expect(await statusOf('checked')).toEqual({
      observedGeneration: 1,
      typeChecking: {
        expressionWarnings: [
          {
            fieldRef: 'spec.validations[0].expression',
            warning: expect.stringContaining("/v1, Kind=ServiceAccount: ERROR: <input>:1:16: undefined field 'nam'"),
          },
          {
            fieldRef: 'spec.validations[1].expression',
            warning: expect.stringContaining('found no matching overload'),
          },
        ],
      },
    });
    const right = { validations: [{ expression: 'object.metadata.name == "a"' }] };
    await server.request('PATCH', `${policies}/checked`, { spec: right }, merge);
    expect(await statusOf('checked')).toEqual({ observedGeneration: 2, typeChecking: {} });
    const { metadata } = (await server.request('GET', `${policies}/checked`)).body;
    expect(metadata['managedFields']).toContainEqual(
      expect.objectContaining({
        manager: 'validatingadmissionpolicy-status',
        operation: 'Apply',
        subresource: 'status',
        fieldsV1: { 'f:status': { 'f:observedGeneration': {}, 'f:typeChecking': {} } },
      }),
    );
  });

  test('replace the warnings that Kubernetes has applied', async () => {
    await server.request('POST', policies, policy('migrated', { validations: [{ expression: 'true' }] }));
    await statusOf('migrated');
    const expressionWarnings = [{ fieldRef: 'spec.validations[0].expression', warning: 'stale' }];
    const applied = await server.request(
      'PATCH',
      `${policies}/migrated/status?fieldManager=validatingadmissionpolicy-status&force=true`,
      {
        ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind: 'ValidatingAdmissionPolicy' },
        ...{ metadata: { name: 'migrated' }, status: { observedGeneration: 1, typeChecking: { expressionWarnings } } },
      },
      'application/apply-patch+yaml',
    );
    expect(applied.body['status']).toMatchObject({ typeChecking: { expressionWarnings } });
    await server.request('PATCH', `${policies}/migrated`, { spec: { failurePolicy: 'Ignore' } }, merge);
    expect(await statusOf('migrated')).toEqual({ observedGeneration: 2, typeChecking: {} });
  });

  test('are written like in Kubernetes: an update with the resourceVersion of the creation gets a conflict', async () => {
    const created = (await server.request('POST', policies, policy('early', { validations: [{ expression: 'true' }] })))
      .body;
    await statusOf('early');
    const path = `${policies}/early/status`;
    const update = { ...created, status: { observedGeneration: 1 } };
    expect((await server.request('PUT', path, update)).status).toBe(409);
    expect((await server.request('PATCH', path, { status: { observedGeneration: 1 } }, merge)).status).toBe(200);
    // Unlike a patch, it has to name the version that it replaces.
    const { resourceVersion: _, ...metadata } = created.metadata;
    expect((await server.request('PUT', path, { ...update, metadata })).status).toBe(422);
  });
});
