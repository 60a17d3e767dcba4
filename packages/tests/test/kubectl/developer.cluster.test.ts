import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { type Cluster, startCluster } from '@cluster-apiserver/testkit/cluster';
import { describeWithKubectl, rows } from './kubectl.ts';

/** Longer than the start of a cluster on a machine that runs other tests. */
const slowTestMs = 120_000;

describeWithKubectl('kubectl as the developer of a local cluster', () => {
  let cluster: Cluster;
  beforeAll(async () => {
    cluster = await startCluster({ replicas: 1, etcdMembers: 1 });
  }, slowTestMs);
  afterAll(() => cluster.stop(), slowTestMs);

  const kubectl = (command: string): { code: number | null; out: string; error: string } => {
    const { status, stdout, stderr } = spawnSync(
      'kubectl',
      ['--kubeconfig', cluster.developerKubeconfig, ...command.split(' ')],
      { encoding: 'utf8' },
    );
    return { code: status, out: stdout, error: stderr };
  };

  test('works in the namespace default', () => {
    expect(rows(kubectl('auth whoami').out)).toContainEqual(['Username', 'developer']);
    expect(kubectl('create serviceaccount robot')).toMatchObject({ code: 0, out: 'serviceaccount/robot created\n' });
    expect(rows(kubectl('get serviceaccounts').out)).toContainEqual(expect.arrayContaining(['robot']));
    expect(kubectl('auth can-i delete serviceaccounts').out).toBe('yes\n');
    expect(kubectl('auth can-i --list').out).toMatch(/^serviceaccounts .*delete/m);
    expect(kubectl('delete serviceaccount robot').code).toBe(0);
  });

  test('is denied elsewhere, and cannot grant itself more permissions', () => {
    for (const [command, refusal] of [
      ['get serviceaccounts -n kube-system', 'cannot list resource "serviceaccounts" in API group "" in the namespace'],
      ['get namespaces', 'cannot list resource "namespaces" in API group "" at the cluster scope'],
      ['get serviceaccounts --as admin', 'cannot impersonate'],
      [
        'create rolebinding more --clusterrole=admin --user=developer',
        'cannot create resource "rolebindings" in API group "rbac.authorization.k8s.io" in the namespace "default"',
      ],
    ] as const)
      expect(kubectl(command)).toMatchObject({
        code: 1,
        error: expect.stringContaining(`User "developer" ${refusal}`),
      });
    expect(kubectl('auth can-i create serviceaccounts -n kube-system').out).toBe('no\n');
  });
});
