import { type Clock, seededRandom } from '@cluster-apiserver/base';
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
import { memoryStore } from '@cluster-apiserver/storage';

/** The whole server but for sockets and etcd. It answers everybody, and two of them give equal objects equal identities. */
export interface InMemoryServer {
  send(method: string, target: string, body?: Buffer, type?: string): Promise<ApiResponse>;
  /** Errors that were answered with 500. */
  readonly faults: readonly unknown[];
  close(): Promise<void>;
}

const requestTimeoutMs = 3_600_000;

export function openInMemoryServer(clock: Clock): InMemoryServer {
  const random = seededRandom(1);
  const faults: unknown[] = [];
  const report = (error: unknown): void => void faults.push(error);
  const registry = openRegistry({
    kinds: kinds({ eventLifetimeSeconds: 0, serviceAccountTokens: undefined }),
    store: memoryStore(clock),
    keyPrefix: '/registry',
    clock,
    random,
    report: () => {},
  });
  const authorizer: Authorizer = { authorize: () => ({ verdict: 'allow' }) };
  const handle = chain(
    {
      clock,
      random: seededRandom(2),
      requestTimeoutMs,
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
      watchLimits: {
        clock,
        random,
        minRequestTimeoutMs: requestTimeoutMs,
        report,
        openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
        measures: { began: () => {}, ended: () => {}, stalled: () => {} },
      },
      documents: documentRoutes({}),
    }),
  );
  const request = (method: string, target: string, body: Buffer, type: string): ApiRequest => ({
    method,
    target,
    header: (name) => (name === 'content-type' ? type : undefined),
    headerLines: (name) => (name === 'content-type' ? [type] : []),
    headersFrom: () => [],
    clientCertificates: [],
    webSocket: false,
    body: async () => body,
    remoteAddress: '127.0.0.1',
    protocol: 'HTTP/1.1',
    signal: new AbortController().signal,
    isAborted: false,
    onEnd: () => {},
  });
  return {
    send: async (method, target, body = Buffer.alloc(0), type = 'application/json') =>
      handle(request(method, target, body, type)),
    faults,
    close: () => registry.cache.close(),
  };
}
