/** An operator's key rotation with the storage command: inspect, dry run, rewrite, inspect. */
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { kinds } from '@cluster-apiserver/kinds';
import { canary } from '@cluster-apiserver/testkit/leaks';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { putRaw } from '@cluster-apiserver/testkit/etcd-gateway';
import { serveKinds, type TestServer } from '../serve-kinds.ts';
import { configuration, createAccount, file, flags, provider, keyOf } from './configuration.ts';
import { runStorage } from './run-storage.ts';

let etcd: RealEtcd;
/** Of some kinds, in one test. */
let other: RealEtcd | undefined;
beforeEach(async () => {
  etcd = await startEtcd({ encrypted: true });
  const alone = ['--system-namespaces=', '--disable-admission-plugins=NamespaceAutoProvision'];
  const files = { [file]: configuration(provider('aesgcm', 'a')) };
  const server = await serveKinds(kinds, { flags: [...flags, ...alone], files, etcd });
  await Promise.all(Array.from({ length: 30 }, (_, n) => createAccount(server, `robot-${n}`)));
  await server.request('POST', '/api/v1/namespaces/team/events', {
    metadata: { name: 'seen' },
    involvedObject: { namespace: 'team' },
  });
  await server.close();
});
afterEach(async () => {
  await other?.stop();
  other = undefined;
  await etcd.stop();
});

async function run(text: string, ...args: string[]): ReturnType<typeof runStorage> {
  const ran = await runStorage(etcd, text, ...args);
  expect(ran.lines.join('\n')).not.toContain(canary);
  return ran;
}

const rotated = configuration(provider('secretbox', 'b'), provider('aesgcm', 'a'));

test('a rewrite updates only values of older keys', async () => {
  // Excludes the default roles and the namespace of the server's Lease, which are stored without encryption.
  const inspectKeys = async (): Promise<string[]> =>
    (await run(rotated, 'inspect')).lines
      .slice(1)
      .filter((line) => !/^(clusterrole|flowschemas|namespaces|prioritylevel)/.test(line));
  const clear = 'events\tin clear\t1';
  expect(await inspectKeys()).toEqual([clear, 'serviceaccounts\tk8s:enc:aesgcm:v1:a:\t30']);

  const rehearsed = await run(rotated, 'rewrite', '--dry-run');
  expect(rehearsed.lines.at(-1)).toMatch(/^\d+ seen, 30 would be rewritten, 0 unreadable/);
  expect(await inspectKeys()).toContain('serviceaccounts\tk8s:enc:aesgcm:v1:a:\t30');

  const partly = await run(rotated, 'rewrite', '--after', keyOf('robot-28'), '--objects-per-second=1000');
  expect(partly.lines.at(-1)).toMatch(/^\d seen, \d rewritten/);
  const whole = await run(rotated, 'rewrite', '--objects-per-second=1000');
  expect(whole.code).toBe(0);
  expect(await inspectKeys()).toEqual([clear, 'serviceaccounts\tk8s:enc:secretbox:v1:b:\t30']);
  expect((await run(rotated, 'rewrite')).lines.at(-1)).toMatch(/^\d+ seen, 0 rewritten/);
});

test('each etcd of --etcd-servers-overrides is read for its own kinds; what was left in another one is named', async () => {
  other = await startEtcd({ encrypted: true });
  const overrides = `--etcd-servers-overrides=/serviceaccounts#${other.endpoints.join(';')}`;
  const old = configuration(provider('aesgcm', 'a'));
  const server = await serveKinds(kinds, { flags: [...flags, overrides], files: { [file]: old }, etcd });
  await createAccount(server, 'robot-0');
  await server.close();
  const inspected = async () =>
    (await run(rotated, 'inspect', overrides)).lines.filter((line) => line.startsWith('serviceaccounts'));
  const left = 'serviceaccounts (left in etcd-0)\tk8s:enc:aesgcm:v1:a:\t30';
  const ofSystem = (await inspected()).filter((line) => line !== left);
  expect(ofSystem).toEqual([expect.stringMatching(/^serviceaccounts\tk8s:enc:aesgcm:v1:a:\t[1-9]/)]);
  expect((await run(rotated, 'rewrite', overrides, '--after', keyOf('robot-'))).code).toBe(0);
  expect(await inspected()).toEqual([String(ofSystem[0]).replace('aesgcm:v1:a', 'secretbox:v1:b'), left]);
});

test('unreadable values are reported and skipped, and the command fails', async () => {
  await putRaw(etcd.endpoints[0] as string, keyOf('robot-7'), Buffer.from('k8s:enc:aesgcm:v1:a:xyz'));
  const { code, lines } = await run(rotated, 'rewrite');
  expect(code).toBe(1);
  expect(lines).toContain(`cannot read ${keyOf('robot-7')}`);
  expect(lines.at(-1)).toContain(' 1 unreadable');
});

test('the key to continue from must be among the objects', async () => {
  for (const after of ['', '/a', '/registryx/a'])
    await expect(run(rotated, 'rewrite', `--after=${after}`)).rejects.toThrow('--after: expected a key');
});

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

async function defineThings(server: TestServer, versions: readonly object[]): Promise<void> {
  const names = { plural: 'things', kind: 'Thing' };
  const { status } = await server.request('POST', definitions, {
    metadata: { name: 'things.example.com' },
    spec: { group: 'example.com', scope: 'Cluster', names, versions },
  });
  expect(status).toBe(201);
}

/** As soon as the kind is served. */
async function createThing(server: TestServer, kept: string): Promise<void> {
  const thing = { apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name: 'a' }, kept };
  const create = (): Promise<number> => server.statusOf('POST', '/apis/example.com/v1/things', thing);
  await until('the kind', async () => (await create()) === 201 || undefined);
}

async function changeThings(server: TestServer, versions: readonly object[]): Promise<void> {
  const type = 'application/merge-patch+json';
  const { status } = await server.request('PATCH', `${definitions}/things.example.com`, { spec: { versions } }, type);
  expect(status).toBe(200);
}

test('custom objects are rewritten as they are, also those that their schema would prune', async () => {
  const all = (...providers: object[]): string =>
    JSON.stringify({
      ...JSON.parse(configuration()),
      resources: [{ resources: ['serviceaccounts', 'things.example.com'], providers }],
    });
  const server = await serveKinds(kinds, { flags, files: { [file]: all(provider('aesgcm', 'a')) }, etcd });
  const schema = (free: boolean): object => ({
    openAPIV3Schema: { type: 'object', ...(free && { 'x-kubernetes-preserve-unknown-fields': true }) },
  });
  const version = (free: boolean): object => ({ name: 'v1', served: true, storage: true, schema: schema(free) });
  await defineThings(server, [version(true)]);
  await createThing(server, canary);
  await changeThings(server, [version(false)]);
  await server.close();
  const inspect = async (): Promise<unknown> =>
    (await run(all(provider('secretbox', 'b'), provider('aesgcm', 'a')), 'inspect')).lines.filter((line) =>
      line.startsWith('example.com/things'),
    );
  expect(await inspect()).toEqual(['example.com/things\tk8s:enc:aesgcm:v1:a:\t1']);
  expect((await run(all(provider('secretbox', 'b'), provider('aesgcm', 'a')), 'rewrite')).code).toBe(0);
  expect(await inspect()).toEqual(['example.com/things\tk8s:enc:secretbox:v1:b:\t1']);
});

test('custom objects of a former version are stored in the present one', async () => {
  const text = configuration(provider('aesgcm', 'a'));
  const schema = {
    openAPIV3Schema: { type: 'object', properties: { kept: { type: 'string' } } },
  };
  const version = (name: string, storage: boolean): object => ({ name, served: true, storage, schema });
  const server = await serveKinds(kinds, { flags, files: { [file]: text }, etcd });
  await defineThings(server, [version('v1', true), version('v2', false)]);
  await createThing(server, 'yes');
  await changeThings(server, [version('v1', false), version('v2', true)]);
  await server.close();
  expect((await run(text, 'rewrite')).lines.at(-1)).toMatch(/^\d+ seen, 1 rewritten, 0 unreadable/);
  expect((await run(text, 'rewrite')).lines.at(-1)).toMatch(/^\d+ seen, 0 rewritten, 0 unreadable/);
  const again = await serveKinds(kinds, { flags, files: { [file]: text }, etcd });
  const { body } = await again.request('GET', '/apis/example.com/v2/things/a');
  expect(body).toMatchObject({ apiVersion: 'example.com/v2', kept: 'yes' });
  await again.close();
});
