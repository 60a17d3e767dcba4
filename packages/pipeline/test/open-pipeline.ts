/**
 * The whole pipeline without a socket, over a store in memory. All users are authorized unless a test says otherwise.
 */
import { type Clock, type Random, seededRandom, systemClock } from '@cluster-apiserver/base';
import { createAdmission, type Authorizer } from '@cluster-apiserver/gates';
import type { Kind, KubeObject } from '@cluster-apiserver/model/kind';
import type { Resource, ServedApi } from '@cluster-apiserver/registry';
import { openTestRegistry } from '../../registry/test/open-test-registry.ts';
import type { JsonResponse, ResponseBody } from '@cluster-apiserver/testkit/json-response';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { readWhole } from '../src/body-source.ts';
import type { ChainOptions } from '../src/chain.ts';
import type { ApiRequest, ApiResponse, Handler } from '../src/exchange.ts';
import { createServedVersions } from '../src/served-versions.ts';
import type { WatchMeasures } from '../src/handlers/watch-measures.ts';
import type { Endpoint } from '../src/endpoints/endpoint.ts';
import type { RouteOptions } from '../src/router.ts';

export interface PipelineOptions {
  readonly kinds: readonly Kind[];
  readonly clock?: Clock;
  /** Generates names and UIDs only: pipelines with the same seed generate equal objects. */
  readonly random?: Random;
  readonly chain?: Partial<ChainOptions>;
  readonly routes?: Partial<RouteOptions>;
  readonly watchMeasures?: WatchMeasures;
  readonly store?: ReturnType<typeof memoryStore>;
  /** By default longer than any test, also for clocks that are advanced. */
  readonly requestTimeoutMs?: number;
}

export interface OpenPipeline {
  readonly handle: Handler<ApiRequest>;
  /** Sends a request without a socket. */
  ask(method: string, target: string, message?: Message): Promise<ApiResponse>;
  /** Sends an object as JSON, or a text of this type, and parses the response. */
  askJson<Body extends KubeObject = ResponseBody>(
    method: string,
    target: string,
    body?: object | string | Buffer,
    type?: string,
  ): Promise<JsonResponse<Body>>;
  readonly api: ServedApi;
  readonly resources: readonly Resource[];
  /** The endpoints of all kinds. */
  readonly endpoints: readonly Endpoint[];
  readonly store: ReturnType<typeof memoryStore>;
  /** Internal errors that were reported. */
  readonly reportedErrors: unknown[];
  /** The code of each request that was counted. */
  readonly codes: number[];
  close(): Promise<void>;
}

interface Message {
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly isWebSocket?: boolean;
  /** What a listener would do otherwise. */
  readonly request?: Partial<ApiRequest>;
}

export async function openPipeline({
  kinds,
  clock = systemClock,
  random: chooses = seededRandom(1),
  chain: stages,
  routes: answers,
  watchMeasures = { begin: () => ({ countSent: () => {}, countStalled: () => {}, end: () => {} }) },
  store = memoryStore(clock),
  requestTimeoutMs = 3_600_000,
}: PipelineOptions): Promise<OpenPipeline> {
  // Loaded late, since a test may have replaced modules.
  const [
    { buildHandlerChain: chain },
    { endpointsOf },
    { createRouter: routes },
    { createNonResourceRouter: documentRoutes },
    { OpenWatches },
  ] = await Promise.all([
    import('../src/chain.ts'),
    import('../src/endpoints/endpoints.ts'),
    import('../src/router.ts'),
    import('../src/non-resource/router.ts'),
    import('../src/handlers/open-watches.ts'),
  ]);
  const reportedErrors: unknown[] = [];
  const codes: number[] = [];
  const random = seededRandom(2);
  const report = (error: unknown): void => void reportedErrors.push(error);
  const registry = openTestRegistry(kinds, store, clock, chooses);
  const { resources } = registry.api;
  const authorizer: Authorizer = { authorize: () => ({ verdict: 'allow' }) };
  const user = { name: 'anybody', groups: [] };
  const routeOptions: RouteOptions = {
    api: registry.api,
    reviews: [],
    clock,
    checks: { admission: createAdmission([]), authorizer },
    deleteCollectionWorkers: 1,
    watchLimits: {
      clock,
      random,
      minRequestTimeoutMs: requestTimeoutMs,
      report,
      openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
      measures: watchMeasures,
    },
    nonResourceRouter: documentRoutes({}),
    ...answers,
  };
  const handle = chain(
    {
      clock,
      random,
      find: createServedVersions(routeOptions.api, routeOptions.reviews).find,
      requestTimeoutMs,
      allowedOrigin: () => false,
      authenticator: { authenticate: () => user },
      authorizer,
      inFlightMeasures: { used: () => {}, rejected: () => {}, refused: () => {} },
      requestLog: { logsAll: false, ended: () => {} },
      measures: { record: ({ code }) => void codes.push(code) },
      report,
      reportRejection: () => {},
      ...stages,
    },
    routes(routeOptions),
  );
  const ask = async (
    method: string,
    target: string,
    { body, headers = {}, isWebSocket = false, request }: Message = {},
  ): Promise<ApiResponse> =>
    handle({
      method,
      target,
      header: (name) => headers[name],
      headerLines: (name) => (headers[name] === undefined ? [] : [headers[name]]),
      headersFrom: (prefix) =>
        Object.entries(headers).flatMap(([name, value]) =>
          value !== undefined && name.startsWith(prefix) ? [[name, value]] : [],
        ),
      clientCertificates: [],
      isWebSocket,
      body: async () => (typeof body === 'string' ? Buffer.from(body) : (body ?? Buffer.alloc(0))),
      remoteAddress: '127.0.0.1',
      protocol: 'HTTP/1.1',
      signal: new AbortController().signal,
      isAborted: false,
      onEnd: () => {},
      takeTurnsAs: () => {},
      ...request,
    });
  const askJson: OpenPipeline['askJson'] = async (method, target, body = '', type = 'application/json') => {
    const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    const response = await ask(method, target, { body: sent, headers: { 'content-type': type } });
    return {
      status: response.status,
      warnings: [response.headers['warning'] ?? []].flat(),
      body: JSON.parse(await textOf(response)),
    };
  };
  const close = async (): Promise<void> => {
    await registry.cache.close();
    store.close();
  };
  const endpoints = [...resources.map(({ served }) => served), ...routeOptions.reviews].flatMap(endpointsOf);
  return { handle, ask, askJson, api: registry.api, resources, endpoints, store, reportedErrors, codes, close };
}

/** The whole body of a response. */
export const bytesOf = ({ body }: ApiResponse): Promise<Buffer> => readWhole(body ?? '');
export const textOf = async (response: ApiResponse): Promise<string> => (await bytesOf(response)).toString();
