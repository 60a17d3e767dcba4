/**
 * What a write of a very large object costs: how long it takes, and the longest turn of the event loop meanwhile. `node --conditions=source packages/tests/bench/large-writes.ts [SECRETS]`
 */
import { seededRandom, systemClock } from '@cluster-apiserver/base';
import { admission, type Authorizer } from '@cluster-apiserver/gates';
import { kinds } from '@cluster-apiserver/kinds';
import { type ApiRequest, chain, documentRoutes, OpenWatches, routes } from '@cluster-apiserver/pipeline';
import { openRegistry } from '@cluster-apiserver/registry';
import { memoryStore } from '@cluster-apiserver/storage';

const count = Number(process.argv[2] ?? 10_000);
const clock = systemClock;
const random = seededRandom(1);
const registry = openRegistry({
  kinds: kinds({ eventLifetimeSeconds: 3_600 }),
  store: memoryStore(clock),
  keyPrefix: '/registry',
  clock,
  random,
  report: () => {},
});
const authorizer: Authorizer = { authorize: () => ({ verdict: 'allow' }) };
const measures = { began: () => {}, ended: () => {}, stalled: () => {} };
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
    report: console.error,
    reportRejection: () => {},
    allowedOrigin: () => false,
  },
  routes({
    resources: registry.resources,
    reviews: [],
    clock,
    checks: { admission: admission([]), authorizer },
    deleteCollectionWorkers: 1,
    watchLimits: {
      clock,
      random,
      minRequestTimeoutMs: 60_000,
      report: console.error,
      openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
      measures,
    },
    documents: documentRoutes({}),
  }),
);

const request = (method: string, target: string, type: string, body: string): ApiRequest => ({
  method,
  target,
  header: (name) => (name === 'content-type' ? type : undefined),
  headerLines: (name) => (name === 'content-type' ? [type] : []),
  headersFrom: () => [],
  clientCertificates: [],
  webSocket: false,
  body: async () => Buffer.from(body),
  remoteAddress: '127.0.0.1',
  protocol: 'HTTP/1.1',
  signal: new AbortController().signal,
  isAborted: false,
  onEnd: () => {},
});

const secrets = (prefix: string): object[] => Array.from({ length: count }, (_, i) => ({ name: `${prefix}${i}` }));
const collection = '/api/v1/namespaces/n/serviceaccounts';
const json = 'application/json';
const body = (value: object): string => JSON.stringify({ apiVersion: 'v1', kind: 'ServiceAccount', ...value });
let round = 0;
const steps: readonly (readonly [string, () => ApiRequest])[] = [
  ['create', () => request('POST', collection, json, body({ metadata: { name: `a${round}` }, secrets: secrets('s') }))],
  [
    'replace',
    () =>
      request('PUT', `${collection}/a${round}`, json, body({ metadata: { name: `a${round}` }, secrets: secrets('t') })),
  ],
  [
    'strategic patch',
    () =>
      request(
        'PATCH',
        `${collection}/a${round}`,
        'application/strategic-merge-patch+json',
        JSON.stringify({ secrets: secrets('s').toReversed() }),
      ),
  ],
  [
    'merge patch of a label',
    () =>
      request('PATCH', `${collection}/a${round}`, 'application/merge-patch+json', '{"metadata":{"labels":{"a":"b"}}}'),
  ],
  [
    'apply',
    () =>
      request(
        'PATCH',
        `${collection}/b${round}?fieldManager=m&force=true`,
        'application/apply-patch+yaml',
        body({ metadata: { name: `b${round}` }, secrets: secrets('s') }),
      ),
  ],
  ['get', () => request('GET', `${collection}/a${round}`, json, '')],
];

/** The longest time between two turns of the event loop while the work goes on. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  let isOver = false;
  let longestMs = 0;
  let lastMs = performance.now();
  const turn = (): void => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
    if (!isOver) setImmediate(turn);
  };
  turn();
  await work();
  await new Promise((resolve) => setTimeout(resolve, 50));
  isOver = true;
  return longestMs;
}

console.log(`| ${count} secrets | status | ms | longest turn ms |\n|---|---|---|---|`);
for (round = 0; round < 12; round++)
  for (const [name, make] of steps) {
    const asked = make();
    let status = 0;
    let ms = 0;
    const beganMs = performance.now();
    const turnMs = await longestTurn(async () => {
      ({ status } = await handle(asked));
      ms = performance.now() - beganMs;
    });
    const cells = [name, status, ms.toFixed(0), turnMs.toFixed(0)];
    if (round > 0) console.log(`| ${cells.join(' | ')} |`);
  }
await registry.cache.close();
