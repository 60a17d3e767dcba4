/** Admission plugins in the assembled server, enabled by flags and configured by a file. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { until } from '@cluster-apiserver/testkit/until';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { sendRequest as askAs } from '../authentication/send-request.ts';
import { metric } from '../authorization/configuration.ts';
import { type TestServer, serveKinds } from '../serve-kinds.ts';

let etcd: RealEtcd;
let server: TestServer | undefined;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const serve = async (plugins: string, configuration?: object, files: Readonly<Record<string, string>> = {}) => {
  server = await serveKinds(kinds, {
    etcd,
    flags: [
      `--enable-admission-plugins=${plugins}`,
      ...(configuration ? ['--admission-control-config-file=/etc/admission/admission.yaml'] : []),
    ],
    files: {
      ...files,
      ...(configuration && {
        '/etc/admission/admission.yaml': JSON.stringify({
          apiVersion: 'apiserver.config.platform.io/v1',
          kind: 'AdmissionConfiguration',
          ...configuration,
        }),
      }),
    },
  });
  return server;
};

const namespaces = '/api/v1/namespaces';
let run = 0;
const uniqueName = (): string => `admission-${++run}`;
const mergePatch = 'application/merge-patch+json';

describe('the server does not start', () => {
  const configuration = (...plugins: object[]): object => ({ plugins });
  test.each<[string, string, object | undefined, string[]]>([
    [
      'with plugins that it does not support',
      'LimitRanger,NodeRestriction',
      undefined,
      [
        '--enable-admission-plugins: there is no "LimitRanger": it is about pods, which are not served',
        '--enable-admission-plugins: there is no "NodeRestriction": it is about nodes, which are not served',
      ],
    ],
    [
      'with EventRateLimit but no limits',
      'EventRateLimit',
      configuration(),
      ['--enable-admission-plugins: EventRateLimit needs its limits in the file of --admission-control-config-file'],
    ],
    [
      'with an invalid configuration',
      '',
      configuration({ name: 'PodSecurity' }, { name: 'EventRateLimit', path: 'absent.yaml' }),
      [
        '--admission-control-config-file: plugins[0].name: Unsupported value: "PodSecurity": it is about pods, which are not served',
        '--admission-control-config-file: plugins[1].path: Invalid value: "absent.yaml": cannot read it: no file /etc/admission/absent.yaml',
      ],
    ],
    [
      'with a manifest directory that does not exist',
      '',
      configuration({
        name: 'ValidatingAdmissionPolicy',
        configuration: {
          apiVersion: 'apiserver.config.k8s.io/v1',
          kind: 'ValidatingAdmissionPolicyConfiguration',
          staticManifestsDir: '/etc/absent',
        },
      }),
      ['--admission-control-config-file: cannot read /etc/absent: no directory /etc/absent'],
    ],
  ])('%s', async (_, plugins, content, faults) => {
    await expect(serve(plugins, content)).rejects.toMatchObject({ name: 'FlagError', message: faults.join('\n') });
  });
});

test('AlwaysDeny rejects writes but not reads, and is reported as deprecated', async () => {
  const name = uniqueName();
  const before = await serve('');
  expect(await before.request('POST', namespaces, { metadata: { name } })).toMatchObject({ status: 201 });
  await before.close();
  const { request, logLines } = await serve('AlwaysDeny');
  expect(await request('POST', namespaces, { metadata: { name: uniqueName() } })).toMatchObject({
    status: 403,
    body: { message: expect.stringMatching(/: admission control is denying all modifications$/) },
  });
  const existing = `${namespaces}/${name}`;
  await until('the namespace', async () => (await request('GET', existing)).status === 200 || undefined);
  expect(await request('DELETE', existing)).toMatchObject({ status: 403 });
  const review = { spec: { token: 'x' } };
  expect(await request('POST', '/apis/authentication.k8s.io/v1/tokenreviews', review)).toMatchObject({
    status: 403,
    body: { message: expect.stringContaining('tokenreviews.authentication.k8s.io "Unknown" is forbidden') },
  });
  expect(await request('GET', namespaces)).toMatchObject({ status: 200 });
  expect(logLines.join()).toContain('admission plugin is deprecated');
});

test('NamespaceExists rejects writes in namespaces that do not exist', async () => {
  const { request } = await serve('NamespaceExists');
  const name = uniqueName();
  const missing = { status: 404, body: { message: `namespaces "${name}" not found` } };
  const accounts = `${namespaces}/${name}/serviceaccounts`;
  expect(await request('POST', accounts, { metadata: { name: 'a' } })).toMatchObject(missing);
  const review = { spec: { user: 'ann', resourceAttributes: { namespace: name, verb: 'get', resource: 'events' } } };
  const reviews = `/apis/authorization.k8s.io/v1/namespaces/${name}/localsubjectaccessreviews`;
  expect(await request('POST', reviews, review)).toMatchObject(missing);
  expect(await request('POST', namespaces, { metadata: { name } })).toMatchObject({ status: 201 });
  expect(await request('POST', accounts, { metadata: { name: 'a' } })).toMatchObject({ status: 201 });
  expect(await request('POST', reviews, review)).toMatchObject({ status: 201 });
  expect(await request('DELETE', `${accounts}/a`)).toMatchObject({ status: 200 });
});

describe('EventRateLimit', () => {
  const limits = (...all: object[]): object => ({
    apiVersion: 'eventratelimit.admission.k8s.io/v1alpha1',
    kind: 'Configuration',
    limits: all,
  });
  const event = (namespace: string, name: string, more: object = {}): object => ({
    metadata: { name, namespace },
    involvedObject: { kind: 'Robot', name, namespace },
    ...more,
  });
  /** Enough events that some exceed the limit, however slow the machine is. */
  const many = Array.from({ length: 20 }, (_, at) => `e-${at}`);

  test('rejects events beyond a limit of its file with 429 and Retry-After', async () => {
    const { open, request } = await serve(
      'EventRateLimit',
      { plugins: [{ name: 'EventRateLimit', path: 'limits.json' }] },
      { '/etc/admission/limits.json': JSON.stringify(limits({ type: 'Namespace', qps: 1, burst: 1 })) },
    );
    const namespace = uniqueName();
    const path = `${namespaces}/${namespace}/events`;
    const responses = await Promise.all(
      many.map(async (name) => {
        const response = await open('POST', path, event(namespace, name));
        response.resume();
        return response;
      }),
    );
    const refused = responses.filter(({ statusCode }) => statusCode === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    expect(responses.some(({ statusCode }) => statusCode === 201)).toBe(true);
    const dry = await Promise.all(
      many.map((name) => request('POST', `${path}?dryRun=All`, event(namespace, `${name}-dry`))),
    );
    expect(new Set(dry.map(({ status }) => status))).toEqual(new Set([201]));
    const others = await Promise.all(
      many.map((name) => request('POST', `${namespaces}/${namespace}/serviceaccounts`, { metadata: { name } })),
    );
    expect(new Set(others.map(({ status }) => status))).toEqual(new Set([201]));
  });

  test('counts updates and events of events.k8s.io by the source and the object of the stored version', async () => {
    const { request } = await serve('EventRateLimit', {
      plugins: [
        {
          name: 'EventRateLimit',
          configuration: limits({ type: 'SourceAndObject', qps: 1, burst: 1 }),
          path: 'unused',
        },
      ],
    });
    const namespace = uniqueName();
    const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
    const source = { component: 'c', host: 'h' };
    const written = await request('POST', `${namespaces}/${namespace}/events`, event(namespace, 'first', { source }));
    expect(written.status).toBe(201);
    const patches = await Promise.all(
      many.map((name) => request('PATCH', `${path}/first`, { metadata: { labels: { [name]: 'x' } } }, mergePatch)),
    );
    const refused = patches.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]?.body).toMatchObject({
      reason: 'TooManyRequests',
      message: `Too many requests: limit reached on type SourceAndObject for key chRobot${namespace}first`,
    });
  });
});

test('OwnerReferencesPermissionEnforcement requires permission to set owners and to update their finalizers', async () => {
  const served = await serve('OwnerReferencesPermissionEnforcement');
  const { request } = served;
  const name = uniqueName();
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${name}`;
  const accounts = `${namespaces}/${name}/serviceaccounts`;
  const created = await request('POST', accounts, { metadata: { name: 'owner' } });
  await request('POST', accounts, { metadata: { name: 'owned' } });
  const grant = (resources: string[], verbs: string[]) =>
    request('PUT', `${rbac}/roles/writer`, {
      metadata: { name: 'writer' },
      rules: [{ apiGroups: [''], resources, verbs }],
    });
  await request('POST', `${rbac}/roles`, {
    metadata: { name: 'writer' },
    rules: [{ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['create', 'patch'] }],
  });
  await request('POST', `${rbac}/rolebindings`, {
    metadata: { name: 'writer' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'writer' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
  });
  const owner = { apiVersion: 'v1', kind: 'ServiceAccount', name: 'owner', uid: created.body.metadata.uid };
  const patch = (metadata: object) =>
    askAs(served, served.token, {
      method: 'PATCH',
      path: `${accounts}/owned`,
      headers: { 'impersonate-user': 'ann', 'content-type': mergePatch },
      body: JSON.stringify({ metadata }),
    });
  /** A role holds a moment after it was written. */
  const granted = (metadata: object) =>
    until('the role to hold', async () => (await patch(metadata)).status === 200 || undefined);
  await granted({ labels: { a: 'b' } });
  expect(await patch({ ownerReferences: [owner] })).toMatchObject({
    status: 403,
    message: expect.stringContaining("cannot set an ownerRef on a resource you can't delete"),
  });
  await grant(['serviceaccounts'], ['create', 'patch', 'delete']);
  await granted({ ownerReferences: [owner] });
  const blocking = { ownerReferences: [{ ...owner, blockOwnerDeletion: true }] };
  expect(await patch(blocking)).toMatchObject({
    status: 403,
    message: expect.stringContaining("refers to a resource you can't set finalizers on"),
  });
  await grant(['serviceaccounts', 'serviceaccounts/finalizers'], ['create', 'patch', 'delete', 'update']);
  await granted(blocking);
});

test('each plugin and each step has a duration metric by operation and outcome', async () => {
  const served = await serve('NamespaceLifecycle,AlwaysAdmit');
  const plugin = 'apiserver_admission_controller_admission_duration_seconds_count';
  const ofLifecycle = { name: 'NamespaceLifecycle', type: 'admit', operation: 'CREATE' };
  // The server creates its own namespaces as a client does.
  await until('the system namespaces', async () => {
    const found = await served.request('GET', `${namespaces}/kube-public`);
    return found.status === 200 || undefined;
  });
  const admitted = { ...ofLifecycle, rejected: 'false' };
  const ofServer = (await metric(served, plugin, admitted)) ?? 0;
  const before = { name: uniqueName() };
  await served.request('POST', `${namespaces}/${before.name}/serviceaccounts`, { metadata: { name: 'a' } });
  await served.request('POST', namespaces, { metadata: before });
  await served.request('DELETE', `${namespaces}/${before.name}`);
  expect(await metric(served, plugin, { ...ofLifecycle, rejected: 'true' })).toBe(1);
  expect(await metric(served, plugin, admitted)).toBe(ofServer + 1);
  expect(
    await metric(served, plugin, { name: 'ValidatingAdmissionPolicy', type: 'validate', operation: 'DELETE' }),
  ).toBe(1);
  const step = 'apiserver_admission_step_admission_duration_seconds_count';
  expect(await metric(served, step, { type: 'admit', operation: 'CREATE', rejected: 'true' })).toBe(1);
  expect(await metric(served, step, { type: 'validate', operation: 'DELETE', rejected: 'false' })).toBe(1);
});
