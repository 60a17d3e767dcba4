import { callUntil, type Clock, seededRandom } from '@cluster-apiserver/base';
import { compile, type Expression, type Type, types } from '@cluster-apiserver/expressions';
import type { AccessAttributes } from '@cluster-apiserver/model';
import { type Authorizer, type WebhookAuthorizerOptions, createWebhookAuthorizer } from '../../src/index.ts';
import { type HttpsResponse, HttpsError, type HttpsRequest } from '../../src/https/https-client.ts';

/** Calls back at once, as if the time had passed. */
export class SkippingClock implements Clock {
  ms = 0;
  now(): number {
    return this.ms;
  }
  monotonicMs(): number {
    return this.ms;
  }
  after(delayMs: number, callback: () => void): () => void {
    let isCancelled = false;
    queueMicrotask(() => {
      if (isCancelled) return;
      this.ms += delayMs;
      callback();
    });
    return () => {
      isCancelled = true;
    };
  }
  soon(callback: () => void): void {
    queueMicrotask(callback);
  }
  microtask(callback: () => void): void {
    queueMicrotask(callback);
  }
}

export interface Review {
  readonly apiVersion: string;
  readonly spec: Readonly<Record<string, unknown>>;
}

/** What a webhook does with a request. */
export type Script = (review: Review, request: HttpsRequest) => HttpsResponse | Promise<HttpsResponse>;

export const says =
  (status: object): Script =>
  ({ apiVersion }) => ({ status: 200, body: JSON.stringify({ apiVersion, kind: 'SubjectAccessReview', status }) });

export const fails =
  (status: number): Script =>
  () => ({ status, body: 'oops' });

export const hangs =
  (clock: SkippingClock): Script =>
  (_, { timeoutMs }) => {
    clock.ms += timeoutMs;
    throw new HttpsError(`no answer in ${timeoutMs} ms`);
  };

/** Counts what the measures record, by words such as `evaluated success`. */
export type Counts = Record<string, number>;

export interface Scripted {
  readonly authorizer: Authorizer;
  readonly asked: Review[];
  readonly counts: Counts;
  readonly failures: Error[];
  script: Script;
}

export function scriptedWebhook(
  clock: Clock,
  script: Script,
  options: Partial<WebhookAuthorizerOptions> = {},
): Scripted {
  const scripted = { asked: [] as Review[], counts: {} as Counts, failures: [] as Error[], script };
  const count = (what: string): void => {
    scripted.counts[what] = (scripted.counts[what] ?? 0) + 1;
  };
  const client = {
    send: async (request: HttpsRequest): Promise<HttpsResponse> => {
      const review = JSON.parse(request.body ?? '') as Review;
      scripted.asked.push(review);
      return scripted.script(review, request);
    },
  };
  const authorizer = createWebhookAuthorizer({
    name: 'hook',
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    timeoutMs: 3_000,
    subjectAccessReviewVersion: 'v1',
    failurePolicy: 'NoOpinion',
    matchConditions: [],
    connection: () => ({ client, url: new URL('https://hook.example.com'), bearerToken: undefined }),
    clock,
    random: seededRandom(1),
    signal: new AbortController().signal,
    measures: {
      evaluated: (result) => count(`evaluated ${result}`),
      failedOpen: (result) => count(`failed open ${result}`),
      rejected: () => count('rejected'),
      conditions: {
        evaluated: () => count('conditions evaluated'),
        excluded: () => count('excluded'),
        failed: () => count('conditions failed'),
      },
    },
    reviewed: (error) => error && scripted.failures.push(error),
    ...options,
  });
  return Object.assign(scripted, { authorizer });
}

export const call = callUntil(Number.POSITIVE_INFINITY);

export const questionOf = (name: string, part: Partial<AccessAttributes> = {}): AccessAttributes => ({
  user: { name, groups: [] },
  verb: 'get',
  path: '/a',
  ...part,
});

const attributes: Type = types.object('Attributes', { verb: types.string, namespace: types.string });
const declared = {
  user: types.string,
  groups: types.list(types.string),
  extra: types.map(types.string, types.list(types.string)),
  uid: types.string,
  resourceAttributes: attributes,
  nonResourceAttributes: types.object('Path', { verb: types.string, path: types.string }),
};

export function condition(text: string): Expression {
  const compiled = compile(text, { ...declared, request: types.object('Review', declared) });
  if ('faults' in compiled) throw new Error(compiled.faults.join());
  return compiled.expression;
}
