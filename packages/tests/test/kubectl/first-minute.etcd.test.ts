/** What people try first on a cluster: it works, or answers as on a cluster without pods and services. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { withAccountTokens } from '../service-accounts/with-account-tokens.ts';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('the first minute with kubectl', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl(withAccountTokens({ flags: ['--controllers=*'] }));
  });
  afterAll(() => kubectl.close());

  test.each([
    ['cluster-info', 'the server doesn\'t have a resource type "services"'],
    ['get all', 'the server doesn\'t have a resource type "all"'],
    ['get pods', 'the server doesn\'t have a resource type "pods"'],
    ['get nodes', 'the server doesn\'t have a resource type "nodes"'],
    ['run one --image=one', 'no matches for kind "Pod" in version "v1"'],
    ['create deployment one --image=one', 'the server could not find the requested resource'],
  ])('%s says what there is not', async (command, error) => {
    expect(await kubectl.run(command)).toMatchObject({ code: 1, error: expect.stringContaining(error) });
  });

  test('everything that there is can be listed, and the lists have all namespaces', async () => {
    const listed = (await kubectl.stdoutOf('api-resources --verbs=list -o name')).trim().split('\n');
    expect(listed).toEqual(expect.arrayContaining(['configmaps', 'secrets', 'leases.coordination.k8s.io']));
    expect(await kubectl.run(`get ${listed.join()} -A`)).toMatchObject({ code: 0, error: '' });
    expect(rows(await kubectl.stdoutOf('auth can-i --list'))).toContainEqual(['*.*', '[]', '[]', '[*]']);
  });

  test('a new namespace is used at once', async () => {
    const inFresh = (command: string): Promise<string> => kubectl.stdoutOf(`${command} -n fresh`);
    await kubectl.stdoutOf('create ns fresh');
    await inFresh('create quota limits --hard=configmaps=9,secrets=9');
    await inFresh('create secret generic one --from-literal=password=hidden');
    await inFresh('create secret docker-registry pull --docker-server=a --docker-username=b --docker-password=c');
    await inFresh('create configmap settings --from-literal=colour=red');
    await until('its default account', async () => (await inFresh('get sa -o name')).includes('default') || undefined);
    expect(await inFresh('create token default')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);

    const secrets = rows(await inFresh('get secrets --no-headers'));
    expect(secrets.map(([name, type, data]) => [name, type, data])).toEqual([
      ['one', 'Opaque', '1'],
      ['pull', 'kubernetes.io/dockerconfigjson', '1'],
    ]);
    expect(await inFresh('describe secret one')).toMatch(/password: +6 bytes/);
    expect(await inFresh('describe cm settings')).toMatch(/colour:\n----\nred\n/);
    await until(
      'what is counted',
      async () => /secrets +2 +9/.test(await kubectl.stdoutOf('describe ns fresh')) || undefined,
    );
    await kubectl.stdoutOf('delete ns fresh');
    expect(await kubectl.run('get ns fresh')).toMatchObject({ code: 1 });
  });

  test('the Lease of the server', async () => {
    const [lease] = rows(await kubectl.stdoutOf('get leases -n kube-system --no-headers'));
    expect(lease?.[0]).toMatch(/^apiserver-[0-9a-f]{32}$/);
    expect(lease?.[1]).toContain(`${lease?.[0]}_`);
  });

  test('a manifest is compared, applied, and applied by the server', async () => {
    const manifest = JSON.stringify({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { colour: 'red' } },
        { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a' }, stringData: { password: 'hidden' } },
      ],
    });
    const compared = await kubectl.run('diff -f -', manifest);
    expect([compared.code, compared.out]).toEqual([1, expect.stringContaining('colour: red')]);
    expect(compared.out).not.toContain('hidden');
    expect(await kubectl.stdoutOf('apply -f -', manifest)).toContain('secret/a created');
    expect(await kubectl.run('diff -f -', manifest)).toMatchObject({ code: 0, out: '' });
    expect(await kubectl.stdoutOf('apply --server-side --force-conflicts -f -', manifest)).toContain(
      'configmap/a serverside-applied',
    );
    expect(await kubectl.stdoutOf('get secret a -o jsonpath={.data}')).toBe('{"password":"aGlkZGVu"}');
  });
});
