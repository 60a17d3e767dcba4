import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describeWithKubectl, type Kubectl, openKubectl, rows } from './kubectl.ts';

describeWithKubectl('kubectl and roles', () => {
  let kubectl: Kubectl;
  beforeAll(async () => {
    kubectl = await openKubectl();
  });
  afterAll(() => kubectl.close());

  const getObject = async (command: string): Promise<unknown> => {
    const { metadata: _, ...fields } = JSON.parse(await kubectl.stdoutOf(`${command} -o json`)) as { metadata: object };
    return fields;
  };
  const apiVersion = 'rbac.authorization.k8s.io/v1';
  const apiGroup = 'rbac.authorization.k8s.io';

  test('creates each of the four kinds, shows them in tables, and describes them', async () => {
    expect(
      await kubectl.stdoutOf(
        'create role reader --verb=get --verb=list --resource=events,serviceaccounts/token --resource-name=a',
      ),
    ).toBe('role.rbac.authorization.k8s.io/reader created\n');
    expect(await getObject('get role reader')).toEqual({
      apiVersion,
      kind: 'Role',
      rules: [
        {
          apiGroups: [''],
          resourceNames: ['a'],
          resources: ['events', 'serviceaccounts/token'],
          verbs: ['get', 'list'],
        },
      ],
    });

    await kubectl.stdoutOf('create clusterrole prober --verb=get --non-resource-url=/livez,/metrics/*');
    expect(await getObject('get clusterrole prober')).toEqual({
      apiVersion,
      kind: 'ClusterRole',
      rules: [{ nonResourceURLs: ['/livez', '/metrics/*'], verbs: ['get'] }],
    });
    await kubectl.stdoutOf('create clusterrole all --aggregation-rule=team=blue');
    expect(await getObject('get clusterrole all')).toEqual({
      apiVersion,
      kind: 'ClusterRole',
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { team: 'blue' } }] },
      rules: null,
    });

    await kubectl.stdoutOf('create rolebinding readers --role=reader --user=jane --serviceaccount=team:robot');
    expect(await getObject('get rolebinding readers')).toEqual({
      apiVersion,
      kind: 'RoleBinding',
      roleRef: { apiGroup, kind: 'Role', name: 'reader' },
      subjects: [
        { apiGroup, kind: 'User', name: 'jane' },
        { kind: 'ServiceAccount', name: 'robot', namespace: 'team' },
      ],
    });
    await kubectl.stdoutOf('create clusterrolebinding probers --clusterrole=prober --group=crew');
    expect(await getObject('get clusterrolebinding probers')).toEqual({
      apiVersion,
      kind: 'ClusterRoleBinding',
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'prober' },
      subjects: [{ apiGroup, kind: 'Group', name: 'crew' }],
    });

    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    const age = expect.stringMatching(/^\d+s$/);
    expect(rows(await kubectl.stdoutOf('get roles'))).toEqual([
      ['NAME', 'CREATED', 'AT'],
      ['reader', time],
    ]);
    expect(rows(await kubectl.stdoutOf('get clusterroles --no-headers -l !kubernetes.io/bootstrapping'))).toEqual([
      ['all', time],
      ['prober', time],
    ]);
    expect(rows(await kubectl.stdoutOf('get rolebindings'))).toEqual([
      ['NAME', 'ROLE', 'AGE'],
      ['readers', 'Role/reader', age],
    ]);
    expect(rows(await kubectl.stdoutOf('get clusterrolebindings -o wide -l !kubernetes.io/bootstrapping'))).toEqual([
      ['NAME', 'ROLE', 'AGE', 'USERS', 'GROUPS', 'SERVICEACCOUNTS'],
      ['probers', 'ClusterRole/prober', age, 'crew'],
    ]);
    expect(await kubectl.stdoutOf('describe role reader')).toMatch(/events +\[\] +\[a\] +\[get list\]/);
    expect(await kubectl.stdoutOf('describe rolebinding readers')).toMatch(/ServiceAccount +robot +team/);
  });

  test('adds subjects, changes rules, and cannot change a roleRef', async () => {
    await kubectl.stdoutOf('create role reader -n other --verb=get --resource=events');
    await kubectl.stdoutOf('create rolebinding readers -n other --role=reader --user=jane');
    expect(await kubectl.stdoutOf('set subject rolebinding readers -n other --group=crew')).toBe(
      'rolebinding.rbac.authorization.k8s.io/readers subjects updated\n',
    );
    expect(await kubectl.stdoutOf('get rolebinding readers -n other -o jsonpath={.subjects[*].name}')).toBe(
      'jane crew',
    );
    const rule = { apiGroups: [''], resources: ['events'], verbs: ['watch'] };
    await kubectl.stdoutOf(['patch', 'role', 'reader', '-n', 'other', '-p', JSON.stringify({ rules: [rule] })]);
    expect(await kubectl.stdoutOf('get role reader -n other -o jsonpath={.rules[*].verbs[*]}')).toBe('watch');
    const other = JSON.stringify({ roleRef: { kind: 'ClusterRole' } });
    expect(await kubectl.run(['patch', 'rolebinding', 'readers', '-n', 'other', '-p', other])).toMatchObject({
      code: 1,
      error: expect.stringContaining('cannot change roleRef'),
    });
  });

  test('explains them with our documentation', async () => {
    expect(await kubectl.stdoutOf('explain role.rules')).toMatch(
      /verbs\t<\[\]string> -required-\n {4}Verbs that are granted/,
    );
    expect(await kubectl.stdoutOf('explain clusterrole.aggregationRule.clusterRoleSelectors')).toMatch(
      /matchExpressions\t<\[\]LabelSelectorRequirement>/,
    );
    expect(await kubectl.stdoutOf('explain rolebinding --recursive')).toMatch(/roleRef\s<RoleRef> -required-/);
    expect(await kubectl.stdoutOf('explain clusterrolebinding.subjects')).toContain(
      'GROUP:      rbac.authorization.k8s.io',
    );
  });

  test('applies them client-side and server-side', async () => {
    const binding = JSON.stringify({
      apiVersion,
      kind: 'RoleBinding',
      metadata: { name: 'applied' },
      roleRef: { apiGroup, kind: 'Role', name: 'system:x' },
      subjects: [{ apiGroup, kind: 'User', name: 'jane' }],
    });
    const named = 'rolebinding.rbac.authorization.k8s.io/applied';
    expect(await kubectl.stdoutOf('apply -f -', binding)).toBe(`${named} created\n`);
    expect(await kubectl.stdoutOf('apply -f -', binding)).toBe(`${named} unchanged\n`);
    expect(await kubectl.stdoutOf('apply --server-side -f -', binding)).toBe(`${named} serverside-applied\n`);
    expect(await kubectl.run('diff -f -', binding)).toMatchObject({ code: 0, out: '' });
    expect(await kubectl.stdoutOf('delete rolebinding applied')).toBe(`${named.replace('/', ' "')}" deleted\n`);
  });
});
