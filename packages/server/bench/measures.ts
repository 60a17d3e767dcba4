/**
 * What counting costs a get: CPU time of the stages of a request with all metrics and with none, by turns, so that
 * a busy machine is equally unfair to both. The handler behind them does nothing.
 * `node --conditions=source packages/server/bench/measures.ts`
 */
import process from 'node:process';
import { CleanupStack, systemClock as clock, systemRandom } from '@cluster-apiserver/base';
import { createMeasuredAuthenticator, createMeasuredAuthorizer, createSimpleLimits } from '@cluster-apiserver/gates';
import { kinds } from '@cluster-apiserver/kinds';
import {
  type ApiRequest,
  buildHandlerChain,
  createInFlightMeasures,
  createRequestMeasures,
  type Handler,
} from '@cluster-apiserver/pipeline';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { createReadMeasures } from '../src/storage/watch-cache-measures.ts';

const turns = 100;
const requestsPerTurn = 2_000;

const served = kinds({ eventLifetimeSeconds: 60 });
const metrics = createMetrics({ ofProcess: false });
const cleanup = new CleanupStack();
const user = { name: 'someone', groups: [] };
const authenticator = { authenticate: () => user };
const authorizer = { authorize: () => ({ verdict: 'allow' }) as const };
const response = { status: 200, headers: {}, body: Buffer.alloc(1_200) };
const account = served.find(({ plural }) => plural === 'serviceaccounts');
if (!account) throw new Error('there are no service accounts');
const read = createReadMeasures(metrics)(account);

const common = {
  clock,
  random: systemRandom(),
  find: () => account,
  requestTimeoutMs: 60_000,
  allowedOrigin: () => false,
  limits: { control: createSimpleLimits(clock, { readOnly: 400, mutating: 200 }), seatsOf: () => 1 },
  requestLog: { logsAll: false, ended: () => {} },
  report: () => {},
  reportRejection: () => {},
};
const counting = buildHandlerChain(
  {
    ...common,
    authenticator: createMeasuredAuthenticator(authenticator, clock, metrics),
    authorizer: createMeasuredAuthorizer(authorizer, clock, metrics),
    inFlightMeasures: createInFlightMeasures(metrics, clock, cleanup),
    measures: createRequestMeasures(metrics, clock, () => {}),
  },
  () => {
    read.consistent(0.2, true);
    return response;
  },
);
const silent = buildHandlerChain(
  {
    ...common,
    authenticator,
    authorizer,
    inFlightMeasures: { used: () => {}, rejected: () => {}, refused: () => {} },
    measures: { record: () => {} },
  },
  () => response,
);

const request = {
  method: 'GET',
  target: '/api/v1/namespaces/team/serviceaccounts/robot',
  header: () => undefined,
  headerLines: () => [],
  headersFrom: () => [],
  clientCertificates: [],
  remoteAddress: '127.0.0.1',
  isWebSocket: false,
  protocol: 'HTTP/2.0',
  signal: new AbortController().signal,
  isAborted: false,
  body: () => Promise.resolve(Buffer.alloc(0)),
  onEnd: () => {},
  takeTurnsAs: () => {},
} satisfies ApiRequest;

function microsecondsOf(handle: Handler<ApiRequest>): number {
  const before = process.cpuUsage();
  for (let index = 0; index < requestsPerTurn; index++) void handle(request);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / requestsPerTurn;
}

const times: { readonly counting: number; readonly silent: number }[] = [];
for (let turn = 0; turn < turns; turn++)
  times.push({ counting: microsecondsOf(counting), silent: microsecondsOf(silent) });
const median = (values: number[]): number => values.sort((one, other) => one - other)[values.length / 2] ?? Number.NaN;
const [all, none] = [median(times.map((time) => time.counting)), median(times.map((time) => time.silent))];
console.log(`${all.toFixed(2)} us with metrics, ${none.toFixed(2)} us without, ${(all - none).toFixed(2)} us for them`);
await cleanup.close();
