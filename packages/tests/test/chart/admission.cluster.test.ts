/**
 * The manifests of every value set on a real kube-apiserver, in a namespace that enforces the Pod Security Standard
 * `restricted`: defaults, validation, admission and unknown fields. There are no nodes, so no pod starts.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import path from 'node:path';
import { until } from '@cluster-apiserver/testkit/until';
import { describeIf } from '../describe-if.ts';
import { valueSets } from './chart-files.ts';
import { hasHelm, installDefinitions, type Manifest, render } from './helm.ts';
import {
  type KubeApiserver,
  kubeApiserverProgram,
  startKubeApiserver,
} from '@cluster-apiserver/testkit/kube-apiserver';
import { podTemplateOf } from './pods.ts';

const slowTestMs = 180_000;
const reason = 'no KUBE_APISERVER_BIN names a kube-apiserver';

interface ResourceList {
  readonly resources: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

describeIf(hasHelm && kubeApiserverProgram !== undefined, 'a real kube-apiserver', reason, () => {
  let server: KubeApiserver;
  beforeAll(async () => {
    server = await startKubeApiserver();
    await installDefinitions(server);
  }, slowTestMs);
  afterAll(() => server.stop(), slowTestMs);

  const create = (collection: string, object: object) => server.request('POST', collection, object);

  const createNamespace = async (name: string): Promise<void> => {
    const labels = Object.fromEntries(
      ['enforce', 'warn'].map((mode) => [`pod-security.kubernetes.io/${mode}`, 'restricted']),
    );
    const { status } = await create('/api/v1/namespaces', { metadata: { name, labels } });
    expect(status).toBe(201);
  };

  /** Path of the object. The resources of a new CustomResourceDefinition appear after a moment. */
  const pathOf = async ({ apiVersion, kind, metadata }: Manifest, namespace: string): Promise<string> => {
    const base = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
    const resource = await until(`${apiVersion} ${kind}`, async () => {
      const { status, body } = await server.request('GET', base);
      if (status !== 200) return undefined;
      const { resources } = JSON.parse(body) as ResourceList;
      return resources.find((one) => one.kind === kind && !one.name.includes('/'));
    });
    const scope = resource.namespaced ? `/namespaces/${namespace}` : '';
    return `${base}${scope}/${resource.name}/${metadata.name}`;
  };

  const apply = async (manifest: Manifest, namespace: string, query = ''): Promise<string> => {
    const target = `${await pathOf(manifest, namespace)}?fieldManager=test&fieldValidation=Strict${query}`;
    const metadata = { ...manifest.metadata, ...(target.includes('/namespaces/') && { namespace }) };
    const object = { ...manifest, metadata };
    const { status, warnings, body } = await server.request('PATCH', target, object);
    const error = status === 200 || status === 201 ? '' : body;
    return `${error}${warnings}` && `${manifest.kind} ${manifest.metadata.name}: ${error}${warnings}`;
  };

  test.each(valueSets)(
    'admits every manifest of %s without a warning',
    async (set) => {
      const namespace = path.parse(set).name;
      await createNamespace(namespace);
      const manifests = render([set]);
      const problems: string[] = [];
      for (const query of ['&dryRun=All', ''])
        for (const manifest of manifests) problems.push(await apply(manifest, namespace, query));
      expect(problems.filter(Boolean)).toEqual([]);
    },
    slowTestMs,
  );

  test.each(valueSets)(
    'admits the pods of %s',
    async (set) => {
      const namespace = `${path.parse(set).name}-pods`;
      await createNamespace(namespace);
      const pods = render([set]).flatMap(podSpecsOf);
      expect(pods.length).toBeGreaterThan(0);
      for (const spec of pods) {
        const pod = { metadata: { generateName: 'pod-' }, spec };
        const { status, body } = await create(`/api/v1/namespaces/${namespace}/pods?fieldValidation=Strict`, pod);
        expect({ status, error: status === 201 ? '' : body }).toEqual({ status: 201, error: '' });
      }
    },
    slowTestMs,
  );

  test('rejects a pod that is not restricted', async () => {
    await createNamespace('rejecting');
    const spec = { containers: [{ name: 'one', image: 'one' }] };
    const { status, body } = await create('/api/v1/namespaces/rejecting/pods', { metadata: { name: 'one' }, spec });
    expect({ status, body }).toEqual({ status: 403, body: expect.stringContaining('violates PodSecurity') });
  });
});

/** The pod of a workload, with the volumes that the controller of a StatefulSet adds for its claims. */
function podSpecsOf(manifest: Manifest): readonly object[] {
  const pod = podTemplateOf(manifest);
  if (!pod) return [];
  const { volumeClaimTemplates: claims = [] } = manifest.spec as {
    readonly volumeClaimTemplates?: readonly Manifest[];
  };
  const claimed = claims.map(({ metadata: { name } }) => ({ name, persistentVolumeClaim: { claimName: name } }));
  return [{ ...pod.spec, volumes: [...(pod.spec.volumes ?? []), ...claimed] }];
}
