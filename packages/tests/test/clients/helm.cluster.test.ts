import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CleanupStack } from '@cluster-apiserver/base';
import { startEtcd } from '@cluster-apiserver/testkit/etcd';
import { describeWithHelm, helm } from '../chart/helm.ts';
import type { Client } from '@cluster-apiserver/testkit/api-client';
import { type Replicas, startReplicas } from '../operations/replicas.ts';
import { kubeconfigOf } from './client-programs.ts';
import { widgetDefinition, widgetGroup } from './widgets.ts';

// The life of a release in the server: its objects, one of a custom kind that the chart defines, and its history, which Helm
// keeps in Secrets. Helm runs in the foreground, so the server is other processes.

const slowTestMs = 300_000;
const release = 'web';

const files: Readonly<Record<string, string | object>> = {
  'Chart.yaml': { apiVersion: 'v2', name: 'web', version: '1.0.0', appVersion: '1' },
  'values.yaml': { color: 'red', size: 1, hasExtra: true },
  'crds/widgets.yaml': widgetDefinition,
  'templates/settings.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  color: {{ .Values.color }}
  knowsLeases: {{ .Capabilities.APIVersions.Has "coordination.k8s.io/v1/Lease" | quote }}
  revision: {{ .Release.Revision | quote }}
{{- if .Values.hasExtra }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: extra
{{- end }}
`,
  'templates/password.yaml': `{{- $present := lookup "v1" "Secret" .Release.Namespace "password" }}
apiVersion: v1
kind: Secret
metadata:
  name: password
stringData:
  password: {{ if $present }}{{ $present.data.password | b64dec }}{{ else }}{{ randAlphaNum 20 }}{{ end }}
`,
  'templates/access.yaml': `apiVersion: v1
kind: ServiceAccount
metadata:
  name: web
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: web
rules:
  - apiGroups: [""]
    resources: [configmaps]
    verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: web
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: web
subjects:
  - kind: ServiceAccount
    name: web
`,
  'templates/widget.yaml': `apiVersion: ${widgetGroup}/v1
kind: Widget
metadata:
  name: web
spec:
  size: {{ .Values.size }}
`,
  'templates/hook.yaml': `apiVersion: v1
kind: ConfigMap
metadata:
  name: hook
  annotations:
    helm.sh/hook: pre-install,pre-upgrade
data:
  revision: {{ .Release.Revision | quote }}
`,
};

describeWithHelm('Helm', () => {
  const cleanup = new CleanupStack();
  let replicas: Replicas;
  let client: Client;
  let home: string;
  beforeAll(async () => {
    home = fs.mkdtempSync(path.join(os.tmpdir(), 'helm-'));
    cleanup.defer('files', () => fs.rmSync(home, { recursive: true }));
    const etcd = await startEtcd();
    cleanup.defer('etcd', () => etcd.stop());
    replicas = await startReplicas({ etcdEndpoints: etcd.endpoints, replicas: [{}, {}] });
    cleanup.defer('replicas', () => replicas.stop());
    const [replica] = replicas.all;
    if (!replica) throw new Error('there are replicas');
    client = replica.client();
    cleanup.defer('client', () => client.close());
    fs.writeFileSync(path.join(home, 'kubeconfig'), kubeconfigOf({ ...replicas, url: replicas.front }));
    for (const [name, content] of Object.entries(files)) {
      const file = path.join(home, 'chart', name);
      fs.mkdirSync(path.dirname(file), { recursive: true });
      fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    }
  }, slowTestMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

  describe.each([
    ['server-side apply', true],
    ['patches that Helm computes', false],
  ])('by %s', (_, isServerSide) => {
    const namespace = isServerSide ? 'applied' : 'patched';
    const how = `--server-side=${isServerSide}`;
    const inNamespace = (...args: readonly string[]) =>
      helm(...args, '--namespace', namespace, '--kubeconfig', path.join(home, 'kubeconfig'));
    const run = (...args: readonly string[]): string => {
      const { code, out, error } = inNamespace(...args);
      if (code !== 0) throw new Error(`helm ${args.join(' ')}: ${error}`);
      return out;
    };
    const history = (): readonly string[] =>
      (JSON.parse(run('history', release, '--output=json')) as readonly Revision[]).map(
        ({ revision, status, description }) => `${revision} ${status}: ${description.slice(0, 16)}`,
      );
    const read = async (resource: string, root = '/api/v1'): Promise<{ status: number; object: ReadObject }> => {
      const { status, body } = await client.request('GET', `${root}/namespaces/${namespace}/${resource}`);
      return { status, object: JSON.parse(body) as ReadObject };
    };
    const settings = async (): Promise<ReadObject['data']> => (await read('configmaps/settings')).object.data;
    const widget = async (): Promise<ReadObject> => (await read('widgets/web', `/apis/${widgetGroup}/v1`)).object;

    test(
      'a release is installed, upgraded, rolled back and uninstalled',
      async () => {
        run('install', release, path.join(home, 'chart'), how, '--create-namespace', '--wait', '--timeout=60s');
        expect(await settings()).toEqual({ color: 'red', knowsLeases: 'true', revision: '1' });
        expect((await read('configmaps/settings')).object.metadata).toMatchObject({
          labels: { 'app.kubernetes.io/managed-by': 'Helm' },
          annotations: { 'meta.helm.sh/release-name': release, 'meta.helm.sh/release-namespace': namespace },
        });
        expect((await widget()).spec).toEqual({ size: 1 });
        const password = (await read('secrets/password')).object.data;
        expect(history()).toEqual(['1 deployed: Install complete']);

        run('upgrade', release, path.join(home, 'chart'), how, '--set=color=blue,size=2,hasExtra=false', '--wait');
        expect(await settings()).toEqual({ color: 'blue', knowsLeases: 'true', revision: '2' });
        expect((await widget()).spec).toEqual({ size: 2 });
        expect((await read('secrets/password')).object.data).toEqual(password);
        expect((await read('configmaps/extra')).status).toBe(404);
        expect((await read('configmaps/hook')).object.data).toEqual({ revision: '2' });

        const refused = inNamespace('upgrade', release, path.join(home, 'chart'), how, '--set=size=0');
        expect(refused.code).toBe(1);
        expect(refused.error).toContain('spec.size: Invalid value: 0');
        expect((await widget()).spec).toEqual({ size: 2 });

        run('rollback', release, '1', how, '--wait');
        expect(await settings()).toEqual({ color: 'red', knowsLeases: 'true', revision: '1' });
        expect((await widget()).spec).toEqual({ size: 1 });
        expect((await read('configmaps/extra')).status).toBe(200);
        expect(history()).toEqual([
          '1 superseded: Install complete',
          '2 superseded: Upgrade complete',
          '3 failed: Upgrade "web" fa',
          '4 deployed: Rollback to 1',
        ]);
        expect(JSON.parse(run('list', '--output=json'))).toMatchObject([
          { name: release, namespace, revision: '4', status: 'deployed', chart: 'web-1.0.0' },
        ]);
        const stored = (await read('secrets?labelSelector=owner%3Dhelm')).object.items ?? [];
        expect(stored.map(({ metadata, type }) => [metadata.name, type])).toEqual(
          [1, 2, 3, 4].map((revision) => [`sh.helm.release.v1.${release}.v${revision}`, 'helm.sh/release.v1']),
        );
        expect(run('get', 'manifest', release)).toContain('kind: Widget');

        run('uninstall', release, '--wait');
        for (const resource of ['configmaps/settings', 'configmaps/extra', 'secrets/password', 'serviceaccounts/web'])
          expect({ resource, status: (await read(resource)).status }).toEqual({ resource, status: 404 });
        expect((await read('widgets', `/apis/${widgetGroup}/v1`)).object.items).toEqual([]);
        expect((await read('secrets?labelSelector=owner%3Dhelm')).object.items).toEqual([]);
        for (const resource of ['roles/web', 'rolebindings/web'])
          expect((await read(resource, '/apis/rbac.authorization.k8s.io/v1')).status).toBe(404);
      },
      slowTestMs,
    );
  });
});

interface Revision {
  readonly revision: number;
  readonly status: string;
  readonly description: string;
}

interface ReadObject {
  readonly metadata: { readonly name: string };
  readonly type?: string;
  readonly data?: Readonly<Record<string, string>>;
  readonly spec?: object;
  readonly items?: readonly ReadObject[];
}
