import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { loadAuthenticationConfiguration, loadEncryptionConfiguration } from '@cluster-apiserver/config';
import { CleanupStack, sleep, systemClock as clock } from '@cluster-apiserver/base';
import tls from 'node:tls';
import { openHttps } from '@cluster-apiserver/testkit/https-request';
import { type JsonResponse, readJson } from '@cluster-apiserver/testkit/json-response';
import { until } from '@cluster-apiserver/testkit/until';
import { type ComposeProcesses, type Identity, startComposeProcesses } from './compose-processes.ts';
import { describeIf } from '../describe-if.ts';
import { http1Transport, type OpenWatch } from '@cluster-apiserver/testkit/open-watch';

// Replicas behind the load balancer of docker-compose.yml: any replica can serve any request, and a response of one is
// valid at all others.

const slowTestMs = 240_000;
const accounts = '/api/v1/namespaces/team/serviceaccounts';

describeIf(process.env.HAPROXY_BIN !== undefined, 'behind the load balancer', 'there is no haproxy', () => {
  let cluster: ComposeProcesses;
  const cleanup = new CleanupStack();

  beforeAll(async () => {
    cluster = await startComposeProcesses();
    cleanup.defer('cluster', () => cluster.stop());
  }, slowTestMs);
  afterAll(() => cleanup.close((what, error) => console.error(what, error)), slowTestMs);

  /** Each request opens a connection, for which the load balancer chooses a replica. */
  const send = async (
    method: string,
    path: string,
    { body, to = cluster.url, as = cluster.admin }: { body?: object; to?: string; as?: Identity } = {},
  ): Promise<JsonResponse> => readJson(await openHttps(`${to}${path}`, { method, ca: cluster.ca, ...as, body }));
  const create = (name: string, to?: string) =>
    send('POST', accounts, { body: { metadata: { name } }, ...(to !== undefined && { to }) });

  test('HTTP/2 is negotiated with the replica, not the load balancer', async () => {
    const { port } = new URL(cluster.url);
    const protocol = await new Promise((resolve, reject) => {
      const socket = tls.connect(
        { port: Number(port), host: '127.0.0.1', ca: cluster.ca, ALPNProtocols: ['h2'] },
        () => {
          resolve(socket.alpnProtocol);
          socket.destroy();
        },
      );
      socket.on('error', reject);
    });
    expect(protocol).toBe('h2');
  });

  test('client certificates reach the replica, which authenticates the user and groups', async () => {
    const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const { body } = await send('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', { body: review });
    expect(body).toMatchObject({
      status: { userInfo: { username: 'admin', groups: ['system:masters', 'system:authenticated'] } },
    });
    expect((await send('GET', accounts, { as: cluster.developer })).status).toBe(403);
  });

  test('the configurations of the profiles oidc and kms are valid once the CA and the key are filled in', () => {
    const flags = { disallowedIssuers: [], anonymousAuthGiven: false, egressSelectors: [] };
    const { jwt } = loadAuthenticationConfiguration(cluster.configuration('authentication-oidc.yaml'), flags);
    expect(jwt).toMatchObject([{ issuer: { url: 'https://dex.localhost:5556/dex' } }]);
    expect(loadEncryptionConfiguration(cluster.configuration('encryption-kms.yaml'))).toBeDefined();
  });

  test('connections are distributed over all replicas', async () => {
    const sockets = await Promise.all(Array.from({ length: 30 }, () => connectTls(cluster)));
    try {
      const metrics = await (await fetch(cluster.loadBalancer.metricsUrl)).text();
      const open = [...metrics.matchAll(/^haproxy_server_current_sessions\{.*server="apiserver-\d"\} (\d+)/gm)];
      expect(open).toHaveLength(3);
      for (const [, count] of open) expect(Number(count)).toBeGreaterThan(5);
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  test.each([
    ['without a resourceVersion', () => ''],
    [
      'with the resourceVersion of the write',
      (revision: string) => `?resourceVersion=${revision}&resourceVersionMatch=NotOlderThan`,
    ],
  ])(
    'a list %s includes a write that another replica has acknowledged',
    async (title, query) => {
      const name = `own-write-${title.length}`;
      for (let i = 0; i < 30; i += 1) {
        const { status, body } = await create(`${name}-${i}`);
        expect(status).toBe(201);
        const list = await send('GET', `${accounts}${query(body.metadata?.resourceVersion ?? '')}`);
        expect(list.body.items?.map(({ metadata }) => metadata.name)).toContain(`${name}-${i}`);
      }
    },
    slowTestMs,
  );

  test(
    'continue tokens of one replica are valid at all others and read one snapshot',
    async () => {
      for (let i = 0; i < 40; i += 1) await create(`page-${i}`);
      const all = (await send('GET', accounts)).body.items?.map(({ metadata }) => metadata.name);
      const pages: (string | undefined)[] = [];
      let next: string | undefined = '';
      for (let page = 0; next !== undefined; page += 1) {
        const { url } = cluster.replicas[page % cluster.replicas.length] ?? { url: '' };
        const { status, body }: JsonResponse = await send(
          'GET',
          `${accounts}?limit=7&continue=${encodeURIComponent(next)}`,
          {
            to: url,
          },
        );
        expect(status).toBe(200);
        pages.push(...(body.items ?? []).map(({ metadata }) => metadata.name));
        next = body.metadata?.continue;
        // Later writes are on no page.
        await create(`page-meanwhile-${page}`, cluster.replicas[(page + 1) % cluster.replicas.length]?.url);
      }
      expect(pages).toEqual(all);
    },
    slowTestMs,
  );

  test(
    'a draining replica fails no request, and a new one replaces it',
    async () => {
      const load = startRequests(() => send('GET', `${accounts}?limit=1`));
      try {
        const [replica] = cluster.replicas;
        replica?.signal('SIGTERM');
        await replica?.restart();
        await useAllReplicas(cluster);
      } finally {
        await load.stop();
      }
      expect(load.failures).toEqual([]);
      expect(load.count).toBeGreaterThan(50);
    },
    slowTestMs,
  );

  test(
    'without etcd, requests are answered with 503 instead of a closed connection',
    async () => {
      const answer = (): Promise<number | undefined> => send('GET', accounts).then(({ status }) => status);
      cluster.signalEtcd('SIGSTOP');
      try {
        await until('no ready replica', async () => (await servers(cluster)) === 0 || undefined);
        expect(await answer()).toBe(503);
      } finally {
        cluster.signalEtcd('SIGCONT');
      }
      await useAllReplicas(cluster);
      expect(await answer()).toBe(200);
    },
    slowTestMs,
  );

  test(
    'without a replica, the load balancer answers with 503 and a Status, also a health check',
    async () => {
      for (const replica of cluster.replicas) replica.signal('SIGKILL');
      try {
        const answer = await until('an answer', async () => {
          const found = await send('GET', accounts).catch(() => undefined);
          return found;
        });
        expect(answer).toMatchObject({
          status: 503,
          body: { kind: 'Status', reason: 'ServiceUnavailable', code: 503 },
        });
        expect((await send('GET', '/readyz')).status).toBe(503);
      } finally {
        await Promise.all(cluster.replicas.map((replica) => replica.restart()));
      }
      await useAllReplicas(cluster);
      expect((await send('GET', accounts)).status).toBe(200);
    },
    slowTestMs,
  );

  test(
    'a watch whose replica is killed continues at another one without missing events',
    async () => {
      const revision = (await send('GET', accounts)).body.metadata?.resourceVersion ?? '';
      const seen: string[] = [];
      const watch = startWatch(cluster, `${accounts}?watch=true`, revision, (name) => {
        // The namespace may only now get its default account.
        if (name !== 'default') seen.push(name);
      });
      const written: string[] = [];
      const write = async (name: string): Promise<void> => {
        // The write may have succeeded although its response was lost.
        const { status } = await send('POST', accounts, { body: { metadata: { name } } }).catch(() => ({ status: 0 }));
        if (status === 201 || status === 409) written.push(name);
        else await write(name);
      };
      try {
        for (const [n, replica] of cluster.replicas.entries()) {
          for (let i = 0; i < 10; i += 1) await write(`seen-${n}-${i}`);
          replica.signal('SIGKILL');
          for (let i = 10; i < 20; i += 1) await write(`seen-${n}-${i}`);
          await replica.restart();
        }
        await until('all events', () => (seen.length >= written.length ? true : undefined)).catch(() => {});
      } finally {
        watch.stop();
      }
      await useAllReplicas(cluster);
      expect(seen).toEqual(written);
      // Every replica was killed, so the watch was resumed at least once.
      expect(watch.resumed()).toBeGreaterThan(0);
    },
    slowTestMs,
  );
});

async function connectTls({ url, ca }: ComposeProcesses): Promise<tls.TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = tls.connect({ port: Number(new URL(url).port), host: '127.0.0.1', ca }, () => resolve(socket));
    socket.on('error', reject);
  });
}

const useAllReplicas = (cluster: ComposeProcesses): Promise<true> =>
  until('the load balancer to use all replicas', async () => ((await servers(cluster)) === 3 ? true : undefined));

/** The number of replicas that the load balancer uses. */
async function servers({ loadBalancer }: ComposeProcesses): Promise<number> {
  const metrics = await (await fetch(loadBalancer.metricsUrl)).text();
  return Number(/^haproxy_backend_active_servers\{proxy="replicas"\} (\d+)/m.exec(metrics)?.[1]);
}

/** Sends sequential requests until stopped. */
function startRequests(send: () => Promise<JsonResponse>): {
  readonly failures: string[];
  count: number;
  stop(): Promise<void>;
} {
  const failures: string[] = [];
  let stopping = false;
  const load = { failures, count: 0, stop: () => ((stopping = true), ended) };
  const ended = (async () => {
    while (!stopping) {
      const { status } = await send().catch((error: unknown) => ({ status: String(error) }));
      load.count += 1;
      if (status !== 200) failures.push(`request ${load.count}: ${status}`);
      await sleep(clock, 10);
    }
  })();
  return load;
}

/** A watch that resumes where it ended, like an informer. Returns the name of each added object. */
function startWatch(
  { url, ca, admin }: ComposeProcesses,
  path: string,
  from: string,
  added: (name: string) => void,
): { stop(): void; resumed(): number } {
  let revision = from;
  let connections = 0;
  let stopping = false;
  let current: OpenWatch | undefined;
  const transport = http1Transport({ ca, ...admin });
  const open = (): void => {
    if (stopping) return;
    connections += 1;
    current = transport.open(url, `${path}&resourceVersion=${revision}`, {
      status: () => {},
      line: (line) => {
        const { type, object } = JSON.parse(line) as WatchEvent;
        if (type !== 'ADDED') throw new Error(line);
        revision = object.metadata.resourceVersion;
        added(object.metadata.name);
      },
      closed: () => void sleep(clock, 50).then(open),
    });
  };
  open();
  return {
    stop: () => {
      stopping = true;
      current?.abort();
    },
    resumed: () => connections - 1,
  };
}

interface WatchEvent {
  readonly type: string;
  readonly object: { readonly metadata: { readonly name: string; readonly resourceVersion: string } };
}
