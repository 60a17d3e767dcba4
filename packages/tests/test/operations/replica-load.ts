import type { CleanupStack } from '@cluster-apiserver/base';
import { http1Client } from '@cluster-apiserver/testkit/api-client';
import { serviceAccounts } from '../fault/judged-resources.ts';
import { type JudgedLoad, startJudgedLoad } from '../watch/judged-load.ts';
import { http1Transport, http2Transport } from '@cluster-apiserver/testkit/open-watch';
import { startWatcher, type Watcher, type WatcherOptions } from '../watch/watcher.ts';
import type { Replicas } from './replicas.ts';

interface Options {
  readonly etcdEndpoints: readonly string[];
  readonly compactionIntervalMs?: number;
  /** Where the requests go; by default to all replicas and the load balancer. */
  readonly urls?: readonly string[];
}

const seed = 11;
const everything = { resource: serviceAccounts };

/** At each replica and through the load balancer: one that resumes, one that returns to the past, one that starts anew. */
const watchersEach: readonly (WatcherOptions & { readonly what: string; readonly protocol: 1 | 2 })[] = [
  { what: 'resumed', protocol: 2, view: everything, starts: 'with a list', bookmarks: true, staysEvents: 200 },
  {
    what: 'of the past',
    protocol: 1,
    view: everything,
    starts: 'at an old revision',
    bookmarks: false,
    staysEvents: 50,
  },
  {
    what: 'from the start',
    protocol: 2,
    view: everything,
    starts: 'with initial events',
    bookmarks: true,
    staysEvents: 100,
  },
];

/** Requests to replicas, and watches at each of them, judged by etcd's history. The cleanup ends them. */
export function loadReplicas(
  replicas: Replicas,
  { etcdEndpoints, compactionIntervalMs, urls = everyUrl(replicas) }: Options,
  cleanup: CleanupStack,
): Promise<JudgedLoad> {
  const clients = urls.map((url) => http1Client(url, replicas));
  for (const client of clients) cleanup.defer('client', () => client.close());
  const wires = { 1: http1Transport(replicas), 2: http2Transport(replicas) };
  for (const wire of Object.values(wires)) cleanup.defer('wire', () => wire.close());
  const watching = startJudgedLoad({
    etcdEndpoints,
    encryption: replicas.encryption,
    clients,
    seed,
    ...(compactionIntervalMs !== undefined && { compactionIntervalMs }),
    watchers: (random, recorder) =>
      everyUrl(replicas).flatMap((url) =>
        watchersEach.map(({ what, protocol, ...habit }): Watcher => {
          const client = http1Client(url, replicas);
          cleanup.defer('client', () => client.close());
          return startWatcher(`${what} at ${url}`, habit, {
            random,
            wire: wires[protocol],
            client: () => client,
            url: () => url,
            latestRevision: () => recorder.revision,
          });
        }),
      ),
  });
  cleanup.defer('load', async () => (await watching).stop());
  return watching;
}

const everyUrl = ({ all, front }: Replicas): string[] => [...all.map(({ url }) => url), front];
