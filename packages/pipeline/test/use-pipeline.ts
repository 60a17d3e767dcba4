/** The whole pipeline without a socket, over a store in memory, with users of different rights. */
import { createAdmission, createSimpleLimits, type Authorizer } from '@cluster-apiserver/gates';
import { afterEach, beforeEach } from '@jest/globals';
import { type Call, End, onAbort, seededRandom, systemClock as clock, awaitWithin } from '@cluster-apiserver/base';
import type { AccessAttributes } from '@cluster-apiserver/model';
import { memoryStore } from '@cluster-apiserver/testkit/memory-store';
import { type OpenPipeline, openPipeline } from './open-pipeline.ts';
import { recorder } from './recorder.ts';
import { noteKind, robotKind } from './robots.ts';
import { createNonResourceRouter } from '../src/non-resource/router.ts';
import { type ApiResponse, BodyTooLargeError, type ExchangeEnd } from '../src/exchange.ts';
import { readWhole } from '../src/body-source.ts';
import { textResponse } from '../src/responses.ts';

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
  let pipeline: OpenPipeline;
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

  beforeEach(async () => {
    Object.assign(state, {
      counted: [],
      bodiesRead: 0,
      asked: [],
      recorded: [],
      gone: new AbortController(),
      isStorageSilent: false,
    });
    const store = memoryStore(clock);
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
    pipeline = await openPipeline({
      kinds: [robotKind, noteKind],
      random: seededRandom(7),
      requestTimeoutMs: 1000,
      store: {
        ...store,
        readLatestRevision: (call) => (state.isStorageSilent ? new Promise(() => {}) : store.readLatestRevision(call)),
      },
      chain: {
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
        measures: {
          record: ({ request, info, code }) => void state.counted.push({ verb: info?.verb || request.method, code }),
        },
      },
      routes: {
        checks: { admission: createAdmission([]), authorizer },
        deleteCollectionWorkers: 2,
        nonResourceRouter: createNonResourceRouter({
          '/hello': ({ auditId }) => textResponse(auditId, 200, 'hello'),
          '/broken/:part': () => {
            throw new TypeError('an internal error of this test');
          },
        }),
      },
    });
    state.reportedErrors = pipeline.reportedErrors;
  });

  afterEach(() => pipeline.close());

  async function ask(method: string, target: string, { body = '', headers = {} }: Message = {}): Promise<Answer> {
    const { signal } = state.gone;
    const end = new End<ExchangeEnd>();
    onAbort(signal, () => end.reach({ outcome: 'aborted', bodyBytes: 0 }));
    const response = await pipeline.ask(method, target, {
      headers: { authorization: 'master', ...headers },
      request: {
        body: async (limit) => {
          state.bodiesRead++;
          const sent = Buffer.from(body as string);
          if (sent.length > limit) throw new BodyTooLargeError(limit);
          return sent;
        },
        signal,
        isAborted: signal.aborted,
        onEnd: (listener) => end.subscribe(listener),
      },
    });
    const bytes = response.body === undefined ? undefined : await readWhole(response.body);
    if (bytes) end.reach({ outcome: 'complete', bodyBytes: bytes.length });
    return {
      ...response,
      bytes,
      text: bytes?.toString() ?? '',
      json: () => JSON.parse(bytes?.toString() ?? '') as ReturnType<Answer['json']>,
    };
  }

  return state;
}
