/** All kinds behind the whole chain of stages, without a socket and without etcd: tables of requests cost little. */
import { type Random, systemClock as clock } from '@cluster-apiserver/base';
import { admission, type Authorizer } from '@cluster-apiserver/gates';
import { kinds } from '@cluster-apiserver/kinds';
import {
  type ApiRequest,
  type ApiResponse,
  chain,
  documentRoutes,
  OpenWatches,
  routes,
} from '@cluster-apiserver/pipeline';
import { openRegistry } from '@cluster-apiserver/registry';
import { memoryStore, type Store } from '@cluster-apiserver/storage';

export interface InMemory {
  ask(method: string, target: string, body?: string | Buffer, type?: string): Promise<ApiResponse>;
  readonly store: Store;
  /** Errors that were answered as errors of the server. */
  readonly faults: readonly unknown[];
  close(): Promise<void>;
}

export interface InMemoryOptions {
  readonly random: Random;
  readonly authorizer?: Authorizer;
  /** The feature gates that requests can tell. */
  readonly shardedReads?: boolean;
  readonly deletesUnreadable?: boolean;
}

const allowAll: Authorizer = { authorize: () => ({ verdict: 'allow' }) };

export function serveInMemory({
  random,
  authorizer = allowAll,
  shardedReads = false,
  deletesUnreadable = false,
}: InMemoryOptions): InMemory {
  const faults: unknown[] = [];
  const report = (error: unknown): void => void faults.push(error);
  const store = memoryStore(clock);
  const registry = openRegistry({
    kinds: kinds({ eventLifetimeSeconds: 3_600 }),
    store,
    keyPrefix: '/registry',
    clock,
    random,
    shardedReads,
    report: () => {},
  });
  const handle = chain(
    {
      clock,
      random,
      requestTimeoutMs: 60_000,
      authenticator: { authenticate: () => ({ name: 'anybody', groups: [] }) },
      authorizer,
      inFlightLimits: { readOnly: 0, mutating: 0 },
      inFlightMeasures: { used: () => {}, rejected: () => {} },
      measures: { ended: () => {} },
      report,
      reportRejection: () => {},
      allowedOrigin: () => false,
    },
    routes({
      resources: [...registry.resources, ...registry.views],
      reviews: [],
      clock,
      checks: { admission: admission([]), authorizer },
      deleteCollectionWorkers: 1,
      ...(deletesUnreadable && { mayDeleteUnreadable: authorizer }),
      watchLimits: {
        clock,
        random,
        minRequestTimeoutMs: 60_000,
        report,
        openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
        measures: { began: () => {}, ended: () => {}, stalled: () => {} },
      },
      documents: documentRoutes({}),
    }),
  );
  const request = (method: string, target: string, body: string | Buffer, type: string): ApiRequest => ({
    method,
    target,
    header: (name) => (name === 'content-type' ? type : undefined),
    headerLines: (name) => (name === 'content-type' ? [type] : []),
    headersFrom: () => [],
    clientCertificates: [],
    webSocket: false,
    body: async () => (typeof body === 'string' ? Buffer.from(body) : body),
    remoteAddress: '127.0.0.1',
    protocol: 'HTTP/1.1',
    signal: new AbortController().signal,
    isAborted: false,
    onEnd: () => {},
  });
  return {
    ask: async (method, target, body = '', type = 'application/json') => handle(request(method, target, body, type)),
    store,
    faults,
    close: async () => {
      await registry.cache.close();
      store.close();
    },
  };
}
