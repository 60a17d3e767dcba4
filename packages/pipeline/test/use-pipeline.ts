/** The whole pipeline without a socket, over a store in memory, with users of different rights. */
import { createAdmission, createSimpleLimits, type Authorizer } from '@cluster-apiserver/gates';
import { afterEach, beforeEach } from '@jest/globals';
import { type Call, End, onAbort, seededRandom, systemClock, awaitWithin } from '@cluster-apiserver/base';
import type { AccessAttributes } from '@cluster-apiserver/model';
import type { Registry } from '@cluster-apiserver/registry';
import { openTestRegistry } from '../../registry/test/open-test-registry.ts';
import { type FollowedStore } from '@cluster-apiserver/storage';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { recorder } from './recorder.ts';
import { noteKind, robotKind } from './robots.ts';
import { buildHandlerChain } from '../src/chain.ts';
import { createNonResourceRouter } from '../src/non-resource/router.ts';
import {
  type ApiRequest,
  type ApiResponse,
  BodyTooLargeError,
  type ExchangeEnd,
  type Handler,
} from '../src/exchange.ts';
import { readWhole } from '../src/body-source.ts';
import { OpenWatches } from '../src/handlers/open-watches.ts';
import { textResponse } from '../src/responses.ts';
import { createRouter } from '../src/router.ts';

/** The pipeline of one test, and what its parts recorded. */
export interface TestPipeline {
  /** Internal errors that were reported. */
  readonly reportedErrors: readonly unknown[];
  /** Requests as the metrics counted them. */
  readonly counted: readonly { readonly verb: string; readonly code: number }[];
  /** How many request bodies were read. */
  bodiesRead: number;
  /** What the authorizer was asked. */
  readonly asked: readonly { readonly attributes: AccessAttributes; readonly call: Call }[];
  /** The audit records of requests with the query parameter `audited`. */
  readonly recorded: readonly string[];
  /** Aborts when the client leaves. */
  readonly gone: AbortController;
  /** While set, the storage does not return its latest revision. */
  isStorageSilent: boolean;
  ask(method: string, target: string, message?: Message): Promise<Answer>;
  /** Creates a robot. */
  make(name: string, fields?: object): Promise<Answer>;
}

interface Message {
  readonly body?: string | Buffer;
  readonly headers?: Record<string, string | undefined>;
}

export interface Answer extends ApiResponse {
  readonly bytes: Buffer | undefined;
  readonly text: string;
  json(): {
    message: string;
    reason: string;
    metadata: Record<string, unknown>;
    items: { metadata: { name: string } }[];
  };
}

export const robots = '/api/v1/namespaces/n/robots';

const users: Record<string, { name: string; groups: string[] }> = {
  master: { name: 'm', groups: ['masters'] },
  visitor: { name: 'v', groups: [] },
  editor: { name: 'e', groups: ['editors'] },
  early: { name: 'y', groups: ['early'] },
  manager: { name: 'manager', groups: ['managers'] },
  failing: { name: 'failing', groups: ['failing'] },
};

/** Starts a pipeline before each test of the file and closes it afterwards. */
export function usePipeline(): TestPipeline {
  let registry: Registry;
  let handle: Handler<ApiRequest>;
  const state = {
    reportedErrors: [] as unknown[],
    counted: [] as { verb: string; code: number }[],
    bodiesRead: 0,
    asked: [] as { readonly attributes: AccessAttributes; readonly call: Call }[],
    recorded: [] as string[],
    gone: new AbortController(),
    isStorageSilent: false,
    ask,
    make: (name: string, fields = {}) =>
      ask('POST', robots, { body: JSON.stringify({ metadata: { name }, ...fields }) }),
  };

  beforeEach(() => {
    Object.assign(state, {
      reportedErrors: [],
      counted: [],
      bodiesRead: 0,
      asked: [],
      recorded: [],
      gone: new AbortController(),
      isStorageSilent: false,
    });
    const clock = systemClock;
    const random = seededRandom(7);
    const store = memoryStore(clock);
    const silenceable: FollowedStore = {
      ...store,
      readLatestRevision: (call) => (state.isStorageSilent ? new Promise(() => {}) : store.readLatestRevision(call)),
    };
    registry = openTestRegistry([robotKind, noteKind], silenceable, clock, random);
    const { api } = registry;
    const authorizer: Authorizer = {
      authorize: (attributes, call) => {
        state.asked.push({ attributes, call });
        const { user, verb } = attributes;
        if (user.groups.includes('masters')) return { verdict: 'allow', annotations: { rule: 'masters' } };
        if (user.groups.includes('early')) return { verdict: 'notReady' };
        if (user.groups.includes('managers') && verb === 'impersonate') return { verdict: 'allow' };
        if (user.groups.includes('failing')) return { verdict: 'noOpinion', error: new Error('the webhook is away') };
        if (user.groups.includes('editors') && ['update', 'patch'].includes(verb)) return { verdict: 'allow' };
        return { verdict: 'noOpinion', reason: 'no rule' };
      },
    };
    handle = buildHandlerChain(
      {
        clock,
        random,
        find: ({ group, version, plural }) => api.byPath(group, version, plural)?.served,
        requestTimeoutMs: 1000,
        allowedOrigin: () => false,
        authenticator: {
          authenticate: (credentials, call) =>
            credentials.header('authorization') === 'slow'
              ? awaitWithin(clock, call, new Promise<never>(() => {}))
              : users[credentials.header('authorization') ?? ''],
        },
        authorizer,
        auditor: {
          begin: ({ info: { query } }) =>
            recorder(
              (line) => query.has('audited') && state.recorded.push(line),
              query.get('audited') === 'RequestResponse',
            ),
        },
        limits: { control: createSimpleLimits(clock, { readOnly: 400, mutating: 200 }), seatsOf: () => 1 },
        inFlightMeasures: { used: () => {}, rejected: () => {}, refused: () => {} },
        requestLog: { logsAll: false, ended: () => {} },
        measures: {
          record: ({ request, info, code }) => void state.counted.push({ verb: info?.verb || request.method, code }),
        },
        report: (error) => void state.reportedErrors.push(error),
        reportRejection: () => {},
      },
      createRouter({
        api,
        reviews: [],
        clock,
        checks: { admission: createAdmission([]), authorizer },
        deleteCollectionWorkers: 2,
        watchLimits: {
          clock,
          random,
          minRequestTimeoutMs: 1000,
          report: (error) => void state.reportedErrors.push(error),
          openWatches: new OpenWatches({ clock, maxPerUser: 0, reportStalled: () => {} }),
          measures: { begin: () => ({ countSent: () => {}, countStalled: () => {}, end: () => {} }) },
        },
        nonResourceRouter: createNonResourceRouter({
          '/hello': ({ auditId }) => textResponse(auditId, 200, 'hello'),
          '/broken/:part': () => {
            throw new TypeError('an internal error of this test');
          },
        }),
      }),
    );
  });

  afterEach(() => registry.cache.close());

  async function ask(method: string, target: string, { body, headers = {} }: Message = {}): Promise<Answer> {
    const all: Record<string, string | undefined> = { authorization: 'master', ...headers };
    const end = new End<ExchangeEnd>();
    onAbort(state.gone.signal, () => end.reach({ outcome: 'aborted', bodyBytes: 0 }));
    const request: ApiRequest = {
      method,
      target,
      header: (name) => all[name],
      headerLines: (name) => (all[name] === undefined ? [] : [all[name]]),
      clientCertificates: [],
      headersFrom: (prefix) =>
        Object.entries(all).flatMap(([name, value]) =>
          value !== undefined && name.startsWith(prefix) ? [[name, value]] : [],
        ),
      body: async (limit) => {
        state.bodiesRead++;
        const bytes = Buffer.from((body ?? '') as string);
        if (bytes.length > limit) throw new BodyTooLargeError(limit);
        return bytes;
      },
      isWebSocket: false,
      remoteAddress: '127.0.0.1',
      protocol: 'HTTP/1.1',
      signal: state.gone.signal,
      isAborted: state.gone.signal.aborted,
      onEnd: (listener) => end.subscribe(listener),
      takeTurnsAs: () => {},
    };
    const response: ApiResponse = await handle(request);
    const bytes = await bytesIn(response.body);
    if (bytes) end.reach({ outcome: 'complete', bodyBytes: bytes.length });
    return {
      ...response,
      bytes,
      text: bytes?.toString() ?? '',
      json: () =>
        JSON.parse(bytes?.toString() ?? '') as {
          message: string;
          reason: string;
          metadata: Record<string, unknown>;
          items: { metadata: { name: string } }[];
        },
    };
  }

  return state;
}

const bytesIn = async (body: ApiResponse['body']): Promise<Buffer | undefined> =>
  body === undefined ? undefined : readWhole(body);
