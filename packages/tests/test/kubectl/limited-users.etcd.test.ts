import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '@cluster-apiserver/testkit/until';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

/** The manifest of a role and its binding. */
const policy = (...verbs: string[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'Role',
        metadata: { name: 'readers', namespace: 'team' },
        rules: [{ verbs, apiGroups: [''], resources: ['events'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata: { name: 'readers', namespace: 'team' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'readers' },
        subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'readers' }],
      },
    ],
  });

describeWithKubectl('with kubectl', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
  });
  afterAll(() => kubectl.close());
  const can = (question: string): Promise<true> =>
    until(question, async () => (await kubectl.run(`auth can-i ${question}`)).code === 0 || undefined);

  test('a user is limited to the permissions of a default role in a namespace', async () => {
    expect(await kubectl.run('get sa --as=alice')).toMatchObject({ code: 1 });
    await kubectl.stdoutOf('create rolebinding alice --clusterrole=edit --user=alice');
    await can('create sa --as=alice');
    await kubectl.stdoutOf('create sa robot --as=alice');
    expect(rows(await kubectl.stdoutOf('get sa --as=alice'))).toContainEqual(expect.arrayContaining(['robot']));
    for (const refused of ['get sa -A', 'get clusterroles', 'get roles', 'get sa -n other'])
      expect(await kubectl.run(`${refused} --as=alice`)).toMatchObject({
        code: 1,
        error: expect.stringContaining('Error from server (Forbidden)'),
      });
  });

  test('auth can-i --list shows the rules of all bindings', async () => {
    await kubectl.stdoutOf('create rolebinding lister --clusterrole=view --user=lister');
    await can('list sa --as=lister');
    const listed = rows(await kubectl.stdoutOf('auth can-i --list --as=lister'));
    expect(listed).toContainEqual(['serviceaccounts', '[]', '[]', '[get', 'list', 'watch]']);
    expect(listed).toContainEqual(['selfsubjectreviews.authentication.k8s.io', '[]', '[]', '[create]']);
    expect(listed.flat()).toContain('[/version]');
    const elsewhere = await kubectl.stdoutOf('auth can-i --list --as=lister -n other');
    expect(elsewhere).not.toContain('serviceaccounts ');
  });

  test("the admin of a namespace can grant the admin's permissions, and no more", async () => {
    await kubectl.stdoutOf('create rolebinding boss --clusterrole=admin --user=boss');
    await can('create roles --as=boss');
    await kubectl.stdoutOf('create role watchers --verb=get,watch --resource=events --as=boss');
    expect(await kubectl.run('create role greedy --verb=* --resource=events --as=boss')).toMatchObject({
      code: 1,
      error: expect.stringMatching(
        /roles\.rbac\.authorization\.k8s\.io "greedy" is forbidden: user "boss" .* is attempting to grant RBAC permissions not currently held:\s+{APIGroups:\[""\], Resources:\["events"\], Verbs:\["\*"\]}/,
      ),
    });
    await kubectl.stdoutOf('create rolebinding helper --clusterrole=view --user=helper --as=boss');
    const bind = await kubectl.run('create rolebinding root --clusterrole=cluster-admin --user=boss --as=boss');
    expect(bind).toMatchObject({ code: 1, error: expect.stringContaining('not currently held') });
    expect(await kubectl.run('create clusterrole c --verb=get --resource=events --as=boss')).toMatchObject({
      code: 1,
      error: expect.stringContaining('cannot create resource "clusterroles"'),
    });
  });

  test("auth reconcile creates and completes roles and bindings, and grants no more than the user's permissions", async () => {
    await kubectl.stdoutOf('auth reconcile -f -', policy('get'));
    await can('get events --as=x --as-group=readers');
    await kubectl.stdoutOf('auth reconcile -f -', policy('list'));
    await can('list events --as=x --as-group=readers');
    await can('get events --as=x --as-group=readers');
    expect(await kubectl.stdoutOf('auth reconcile -f - --dry-run=client', policy('get'))).toContain('readers');
    await kubectl.stdoutOf('create rolebinding chief --clusterrole=admin --user=chief');
    await can('patch roles --as=chief');
    const refused = await kubectl.run('auth reconcile -f - --as=chief', policy('dance'));
    expect(refused).toMatchObject({ code: 1, error: expect.stringContaining('not currently held') });
  });
});
