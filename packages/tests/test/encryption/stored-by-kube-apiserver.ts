/** What a real kube-apiserver stores: an object of each kind that this server has, too, encrypted by one of four providers. */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import type { CleanupStack } from '@cluster-apiserver/base';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { type RealEtcd, startEtcd } from '@cluster-apiserver/testkit/etcd';
import { startPlugin } from '@cluster-apiserver/testkit/kms-plugin';
import { type KubeApiserver, startKubeApiserver } from '@cluster-apiserver/testkit/kube-apiserver';
import { until } from '@cluster-apiserver/testkit/until';
import { samples } from '../authorization/samples.ts';
import { lampDefinition } from '../custom-sample.ts';
import { kmsProviders, provider } from './configuration.ts';

/** Resources that each provider encrypts; all others are stored in clear. */
export const encrypted: Readonly<Record<string, readonly string[]>> = {
  aesgcm: ['/configmaps', '/serviceaccounts', 'coordination.k8s.io/leases'],
  aescbc: ['/secrets', 'rbac.authorization.k8s.io/roles'],
  secretbox: ['/events', 'events.k8s.io/events', 'workshop.example/lamps'],
  kms: ['/limitranges', 'admissionregistration.k8s.io/validatingadmissionpolicies'],
};
export const storedPrefixes: Readonly<Record<string, string>> = {
  aesgcm: 'k8s:enc:aesgcm:v1:key:',
  aescbc: 'k8s:enc:aescbc:v1:key:',
  secretbox: 'k8s:enc:secretbox:v1:key:',
  kms: 'k8s:enc:kms:v2:shared:',
  none: '',
};
/** Where keys do not begin with the plural name alone. */
const prefixes: Readonly<Record<string, string>> = {
  'workshop.example/lamps': 'workshop.example/lamps',
  'apiextensions.k8s.io/customresourcedefinitions': 'apiextensions.k8s.io/customresourcedefinitions',
};
const reviews = /^(?:authentication|authorization)\.k8s\.io\/|^[^/]*\/[^/]*\//;
/** Where values of them are recorded. */
export const recordedFile = path.resolve(import.meta.dirname, '..', '..', 'data', 'stored-elsewhere', 'recorded.json');

export interface Recorded {
  readonly resource: string;
  readonly key: string;
  readonly path: string;
  readonly stored: string;
  readonly object: KubeObject;
}
export const recordedValues = JSON.parse(fs.readFileSync(recordedFile, 'utf8')) as readonly Recorded[];
/** The resources that both servers store: those of the recorded values. */
export const stored: readonly string[] = recordedValues.map(({ resource }) => resource);
export const lamps = '/apis/workshop.example/v1/lamps';

export interface KubeApiserverOnEtcd {
  readonly etcd: RealEtcd;
  readonly server: KubeApiserver;
  /** Of both servers: an EncryptionConfiguration. */
  readonly configuration: string;
  readonly collections: ReadonlyMap<string, string>;
}

/** Starts a kube-apiserver that encrypts, and prepares it. */
export async function startOnEtcd(cleanup: CleanupStack): Promise<KubeApiserverOnEtcd> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'on-etcd-'));
  cleanup.defer('files', () => fs.rmSync(home, { recursive: true }));
  const socket = path.join(home, 'kms.sock');
  const plugin = await startPlugin(socket);
  cleanup.defer('plugin', () => plugin.stop());
  const etcd = await startEtcd();
  cleanup.defer('etcd', () => etcd.stop());
  const configuration = configurationWith(socket);
  const file = path.join(home, 'encryption.json');
  fs.writeFileSync(file, configuration);
  const server = await startKubeApiserver({ etcd, flags: [`--encryption-provider-config=${file}`] });
  cleanup.defer('kube-apiserver', () => server.stop());
  return { etcd, server, configuration, collections: await prepare(server) };
}

/** Creates a namespace and a definition, and returns the collections of all resources that both servers store. */
async function prepare(server: KubeApiserver): Promise<ReadonlyMap<string, string>> {
  await create(server, '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', lampDefinition);
  await create(server, '/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
  await until('the custom kind', async () => (await server.request('GET', lamps)).status === 200 || undefined);
  const collections = new Map<string, string>();
  for (const resource of Object.keys(samples).filter((resource) => !reviews.test(resource))) {
    const collection = await findCollection(server, resource);
    if (collection !== undefined) collections.set(resource, collection);
  }
  return collections;
}

export async function create(server: KubeApiserver, collection: string, body: object): Promise<void> {
  const response = await server.request('POST', collection, body);
  if (response.status !== 201) throw new Error(`POST ${collection}: ${response.body}`);
}

export async function getObject(server: KubeApiserver, target: string): Promise<KubeObject> {
  return JSON.parse((await server.request('GET', target)).body);
}

interface Discovery {
  readonly preferredVersion?: { readonly groupVersion: string };
  readonly resources?: readonly { readonly name: string; readonly namespaced: boolean }[];
}

/** Undefined for a kind that kube-apiserver does not have. */
async function findCollection(server: KubeApiserver, resource: string): Promise<string | undefined> {
  const [group = '', plural = ''] = resource.split('/');
  const discover = async (target: string): Promise<Discovery> => {
    const { status, body } = await server.request('GET', target);
    return status === 200 ? JSON.parse(body) : {};
  };
  const root = group === '' ? '/api/v1' : `/apis/${(await discover(`/apis/${group}`)).preferredVersion?.groupVersion}`;
  const { resources = [] } = await discover(root);
  const found = resources.find(({ name }) => name === plural);
  return found && `${root}${found.namespaced ? '/namespaces/team' : ''}/${plural}`;
}

/** Other than those of other resources: events of both groups have the same keys. A definition names its resource and group. */
export function nameFor(resource: string, writer: string): string {
  if (resource.endsWith('/customresourcedefinitions')) return `${writer}.shared.example`;
  const [group] = resource.split('/');
  return group ? `by-${writer}.${group}` : `by-${writer}`;
}

export const bodyFor = (resource: string, name: string): object =>
  samples[resource]?.({ namespace: 'team', name }) ?? {};

/** Of an object in etcd. */
export function keyOf(resource: string, collection: string, name: string): string {
  const { [resource]: prefix = resource.replace(/^.*\//, '') } = prefixes;
  return `/registry/${prefix}/${collection.includes('/namespaces/') ? 'team/' : ''}${name}`;
}

export function configurationWith(socket: string): string {
  const identity = { identity: {} };
  const providerOf = (name: string): object =>
    name === 'kms'
      ? (kmsProviders('v2', socket, 'shared')[0] ?? {})
      : provider(name as 'aesgcm' | 'aescbc' | 'secretbox', 'key');
  return JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'EncryptionConfiguration',
    resources: Object.entries(encrypted).map(([name, resources]) => ({
      // Both groups of events are one resource.
      resources: resources.filter((resource) => resource !== 'events.k8s.io/events').map(inConfiguration),
      providers: [providerOf(name), identity],
    })),
  });
}

/** As `plural.group`. */
function inConfiguration(resource: string): string {
  const [group = '', plural = ''] = resource.split('/');
  return group === '' ? plural : `${plural}.${group}`;
}
