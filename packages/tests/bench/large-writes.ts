/**
 * What a write of a very large object costs: the processor time of each request, and the longest turn of the event
 * loop. `node --conditions=source packages/tests/bench/large-writes.ts [SECRETS]`
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
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
        JSON.stringify({ secrets: secrets('s').reverse() }),
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

const delay = monitorEventLoopDelay({ resolution: 1 });
console.log(`| ${count} secrets | status | processor ms | longest turn ms |\n|---|---|---|---|`);
for (round = 0; round < 12; round++)
  for (const [name, make] of steps) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const asked = make();
    delay.reset();
    delay.enable();
    const before = process.cpuUsage();
    const { status } = await handle(asked);
    await new Promise((resolve) => setTimeout(resolve, 50));
    const { user, system } = process.cpuUsage(before);
    delay.disable();
    if (round > 0)
      console.log(`| ${name} | ${status} | ${((user + system) / 1000).toFixed(0)} | ${(delay.max / 1e6).toFixed(0)} |`);
  }
registry.cache.close();
