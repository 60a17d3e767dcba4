import { expect } from '@jest/globals';
import { sleep, systemClock as clock } from '@cluster-apiserver/base';
import {
  CoreV1Api,
  CustomObjectsApi,
  type KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node';
import { until } from '@cluster-apiserver/testkit/until';
import type { ClientTarget } from './client-programs.ts';
import { kubeConfig } from './kube-config.ts';
import { widgetGroup } from './widgets.ts';

/** An informer of @kubernetes/client-node on all objects of a kind, restarted after errors as its documentation says. */
export interface RunningInformer {
  /** Notifications so far. */
  readonly events: number;
  /** Connections so far. */
  readonly connections: number;
  /** Waits until its cache and its callbacks have led to what the server has, and fails if they do not. */
  converge(): Promise<void>;
  stop(): Promise<void>;
}

/** The client itself waits up to half a minute between two watches without events. */
const convergenceMs = 90_000;
/** Restart delay after an error, as in the client's documentation. */
const restartMs = 500;

interface InformedKind {
  readonly path: string;
  readonly list: (config: KubeConfig) => Promise<KubernetesListObject<KubernetesObject>>;
}

const serviceAccounts: InformedKind = {
  path: '/api/v1/serviceaccounts',
  list: (config) => config.makeApiClient(CoreV1Api).listServiceAccountForAllNamespaces(),
};

export const configMaps: InformedKind = {
  path: '/api/v1/configmaps',
  list: (config) => config.makeApiClient(CoreV1Api).listConfigMapForAllNamespaces(),
};

export const widgets: InformedKind = {
  path: `/apis/${widgetGroup}/v1/widgets`,
  list: (config) =>
    config.makeApiClient(CustomObjectsApi).listClusterCustomObject({
      group: widgetGroup,
      version: 'v1',
      plural: 'widgets',
    }),
};

export function startInformer(to: ClientTarget, kind: InformedKind = serviceAccounts): RunningInformer {
  const config = kubeConfig({ url: to.url, authority: to.ca, token: to.token });
  const list = (): ReturnType<InformedKind['list']> => kind.list(config);
  const informer = makeInformer(config, kind.path, list);
  const notified = new Map<string, string>();
  let events = 0;
  let connections = 0;
  for (const verb of ['add', 'update', 'delete'] as const)
    informer.on(verb, (object) => {
      events += 1;
      if (verb === 'delete') notified.delete(nameOf(object));
      else notified.set(nameOf(object), versionOf(object));
    });
  informer.on('connect', () => {
    connections += 1;
  });
  const stopping = new AbortController();
  informer.on('error', () => {
    void sleep(clock, restartMs).then(() => (stopping.signal.aborted ? undefined : informer.start()));
  });
  void informer.start();
  return {
    get events() {
      return events;
    },
    get connections() {
      return connections;
    },
    converge: async () => {
      const { items } = await list();
      const served = new Map(items.map((object) => [nameOf(object), versionOf(object)]));
      const cached = (): Map<string, string> =>
        new Map(informer.list().map((object) => [nameOf(object), versionOf(object)]));
      // The comparison below reports the differences.
      await until('the same', () => (isSame(cached(), served) ? true : undefined), convergenceMs).catch(() => {});
      expect(served.size).toBeGreaterThan(0);
      expect(cached()).toEqual(served);
      expect(notified).toEqual(served);
    },
    stop: async () => {
      stopping.abort();
      await informer.stop();
    },
  };
}

const nameOf = ({ metadata }: KubernetesObject): string => `${metadata?.namespace}/${metadata?.name}`;
const versionOf = ({ metadata }: KubernetesObject): string => metadata?.resourceVersion ?? '';

const isSame = (some: ReadonlyMap<string, string>, others: ReadonlyMap<string, string>): boolean =>
  some.size === others.size && [...some].every(([name, version]) => others.get(name) === version);
