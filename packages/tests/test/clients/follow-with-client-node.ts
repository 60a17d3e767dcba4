/**
 * Informers of @kubernetes/client-node on single ServiceAccounts of a namespace, in a process of its own:
 * `follow-with-client-node.ts KUBECONFIG NAMESPACE COUNT NAME …`. Input and output are those of `clientgo follow`.
 */
import readline from 'node:readline';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import {
  CoreV1Api,
  KubeConfig,
  type KubernetesListObject,
  ListWatch,
  type V1ServiceAccount,
  Watch,
} from '@kubernetes/client-node';
import type { Followed } from './followers.ts';

/** Restart delay after an error, as in the client's documentation. */
const restartMs = 500;

const [file = '', namespace = '', count = '', ...names] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(file);
const api = config.makeApiClient(CoreV1Api);
const collection = `/api/v1/namespaces/${namespace}/serviceaccounts`;
const followers: { readonly name: string; readonly versions: string[] }[] = [];
let lists = 0;
let watches = 0;

function follow(name: string): void {
  const fieldSelector = `metadata.name=${name}`;
  const list = (): Promise<KubernetesListObject<V1ServiceAccount>> => {
    lists++;
    return api.listNamespacedServiceAccount({ namespace, fieldSelector });
  };
  const versions: string[] = [];
  followers.push({ name, versions });
  const informer = new ListWatch(collection, new Watch(config), list, false, undefined, fieldSelector);
  for (const verb of ['add', 'update'] as const)
    informer.on(verb, ({ metadata }) => versions.push(metadata?.resourceVersion ?? ''));
  informer.on('connect', () => {
    watches++;
  });
  informer.on('error', () => void sleep(clock, restartMs).then(() => informer.start()));
  void informer.start();
}

for (let at = 0; at < Number(count); at++) follow(names[at % names.length] ?? '');

/** Informers of a name that reported the same share an entry. */
function seen(): Followed['seen'] {
  const byName = Object.groupBy(followers, ({ name }) => name);
  return Object.fromEntries(
    Object.entries(byName).map(([name, ofName = []]) => [
      name,
      [...Map.groupBy(ofName, ({ versions }) => versions.join())].map(([, same]) => ({
        versions: same[0]?.versions ?? [],
        informers: same.length,
      })),
    ]),
  );
}

readline
  .createInterface({ input: process.stdin })
  .on('line', () => console.log(JSON.stringify({ seen: seen(), lists, watches } satisfies Followed)))
  .on('close', () => process.exit(0));
