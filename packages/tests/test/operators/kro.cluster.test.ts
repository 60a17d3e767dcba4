/**
 * kro as it is, on three replicas: two controllers, whose graphs define kinds while they run. The graph is that of its
 * first tutorial, of kinds that need no nodes.
 */
import fs from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { until } from '@cluster-apiserver/testkit/until';
import { type ClientProgram, kroProgram, noClients, startProgram } from '../clients/client-programs.ts';
import { describeIf } from '../describe-if.ts';
import { type Client, http1Client } from '@cluster-apiserver/testkit/api-client';
import { connectKubectl, hasKubectl, type Kubectl } from '../kubectl/kubectl.ts';
import { type Replicas, startReplicas } from '../operations/replicas.ts';
import { createObject } from './create-object.ts';
import { missing, readDefinitions } from './official-definitions.ts';

const slowTestMs = 300_000;
const settledMs = 90_000;
const graphs = '/apis/kro.run/v1alpha1/resourcegraphdefinitions';
const applications = '/apis/kro.run/v1alpha1/namespaces/default/applications';
const configMaps = '/api/v1/namespaces/default/configmaps';
const accounts = '/api/v1/namespaces/default/serviceaccounts';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

const skipped =
  missing ??
  (hasKubectl ? undefined : 'there is no kubectl on the PATH') ??
  (fs.existsSync(kroProgram) ? undefined : noClients);

const graph = {
  apiVersion: 'kro.run/v1alpha1',
  kind: 'ResourceGraphDefinition',
  metadata: { name: 'my-application' },
  spec: {
    schema: {
      apiVersion: 'v1alpha1',
      kind: 'Application',
      spec: { name: 'string', text: 'string | default="hello"', lease: { enabled: 'boolean | default=false' } },
      status: { configured: '${config.metadata.name}', version: '${config.metadata.resourceVersion}' },
    },
    resources: [
      {
        id: 'config',
        template: {
          ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '${schema.spec.name}' } },
          data: { text: '${schema.spec.text}' },
        },
      },
      {
        id: 'account',
        template: {
          ...{ apiVersion: 'v1', kind: 'ServiceAccount' },
          metadata: { name: '${config.metadata.name + "-account"}', annotations: { text: '${config.data.text}' } },
        },
      },
      {
        id: 'lease',
        includeWhen: ['${schema.spec.lease.enabled}'],
        template: {
          ...{ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: '${schema.spec.name}' } },
          spec: { holderIdentity: '${account.metadata.name}' },
        },
      },
    ],
  },
};

const application = (name: string, spec: object = {}): object => ({
  apiVersion: 'kro.run/v1alpha1',
  kind: 'Application',
  metadata: { name },
  spec: { name, ...spec },
});

interface KubeObject {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>> & { readonly state?: string };
}

describeIf(!skipped, 'kro', skipped ?? '', () => {
  const cleanup = new CleanupStack();
  let replicas: Replicas;
  let client: Client;
  let kubectl: Kubectl;
  let controllers: readonly ClientProgram[];

  beforeAll(async () => {
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}, {}] });
    cleanup.defer('replicas', () => replicas.stop());
    client = http1Client(replicas.front, replicas);
    cleanup.defer('client', () => client.close());
    const target = { ...replicas, url: replicas.front };
    kubectl = connectKubectl(target);
    cleanup.defer('kubectl', () => kubectl.close());
    const { files } = readDefinitions({ module: 'github.com/kubernetes-sigs/kro', definitions: 'helm/crds' });
    await kubectl.stdoutOf(['apply', '--server-side', ...files.flatMap((file) => ['-f', file])]);
    await kubectl.stdoutOf('wait --for=condition=Established crd --all');
    await createObject(client, '/api/v1/namespaces', { metadata: { name: 'kro-system' } });
    controllers = [1, 2].map(() => {
      const flags = [
        ...['--kubeconfig', 'KUBECONFIG', '--leader-elect', '--leader-election-namespace=kro-system'],
        ...['--leader-election-lease-duration=6s', '--leader-election-renew-deadline=4s'],
        ...['--leader-election-retry-period=1s', '--allow-crd-deletion'],
        ...['--metrics-bind-address=0', '--health-probe-bind-address=0'],
      ];
      const program = startProgram(kroProgram, flags, target);
      cleanup.defer('program', () => program.end('SIGKILL'));
      return program;
    });
  }, slowTestMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

  const read = async (path: string): Promise<KubeObject | undefined> => {
    const { status, body } = await client.request('GET', path);
    return status === 200 ? (JSON.parse(body) as KubeObject) : undefined;
  };
  const waitFor = (what: string, fact: () => Promise<boolean>): Promise<true> =>
    until(what, async () => (await fact()) || undefined, settledMs);
  const isActive = async (name: string): Promise<boolean> =>
    (await read(`${applications}/${name}`))?.status?.state === 'ACTIVE';
  const isGone = async (path: string): Promise<boolean> => (await client.request('GET', path)).status === 404;
  const leader = (): ClientProgram => {
    const leading = controllers.filter(
      ({ errors, lines, hasEnded }) => !hasEnded && [errors, ...lines].join('\n').includes('Starting workers'),
    );
    expect(leading).toHaveLength(1);
    return leading[0] as ClientProgram;
  };

  test(
    'a graph defines a kind, whose objects make others, follow their changes and take them along',
    async () => {
      await createObject(client, graphs, graph);
      await waitFor('the graph', async () => (await read(`${graphs}/my-application`))?.status?.state === 'Active');
      expect(await kubectl.stdoutOf('explain applications.spec.text')).toContain('<string>');
      await createObject(client, applications, application('first', { lease: { enabled: true } }));
      await waitFor('the application', () => isActive('first'));
      expect(await read(`${configMaps}/first`)).toMatchObject({ data: { text: 'hello' } });
      expect(await read(`${accounts}/first-account`)).toMatchObject({ metadata: { annotations: { text: 'hello' } } });
      expect(await read(`${leases}/first`)).toMatchObject({ spec: { holderIdentity: 'first-account' } });
      expect(await read(`${applications}/first`)).toMatchObject({ status: { configured: 'first' } });

      await kubectl.stdoutOf(['patch', 'application', 'first', '--type=merge', '-p', '{"spec":{"text":"changed"}}']);
      await waitFor('the change', async () => {
        const account = await read(`${accounts}/first-account`);
        return account?.metadata.annotations?.['text'] === 'changed';
      });

      // Another controller leads, every replica is a new process, and the graph goes on.
      await leader().end('SIGKILL');
      for (const replica of replicas.all) {
        await replica.end('SIGKILL');
        await replica.start();
      }
      await createObject(client, applications, application('second', { text: 'later' }));
      await waitFor('the application', () => isActive('second'));
      expect(await read(`${configMaps}/second`)).toMatchObject({ data: { text: 'later' } });
      expect(await isGone(`${leases}/second`)).toBe(true);

      await kubectl.stdoutOf('delete application first second');
      for (const path of [`${configMaps}/first`, `${accounts}/first-account`, `${leases}/first`])
        await waitFor(path, () => isGone(path));
      await kubectl.stdoutOf('delete resourcegraphdefinition my-application');
      await waitFor('the end of the kind', async () => isGone(applications));
      leader();
    },
    slowTestMs,
  );
});
