import { type Call, callUntil, type Clock, type Random, awaitWithin } from '@cluster-apiserver/base';
import type { Expression } from '@cluster-apiserver/expressions';
import type { AccessDecision, AccessAttributes } from '@cluster-apiserver/model';
import {
  requestReview,
  type RetryPolicy,
  type WebhookConnection,
  type WebhookOptions,
} from '../../webhook/send-to-webhook.ts';
import { WebhookError } from '../../webhook/webhook-error.ts';
import type { WebhookFailure, WebhookMeasures } from '../authorization-measures.ts';
import { AuthorizationFailedError } from '../authorization-failed-error.ts';
import type { Authorizer } from '../authorizer.ts';
import {
  type ReviewSpec,
  type ReviewStatus,
  type ReviewVersion,
  createReview,
  toReviewSpec,
  parseStatus,
} from './access-review.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { DecisionCache } from './decision-cache.ts';
import { createConditionMatcher } from './match-conditions.ts';
import { getAttributesKey } from './attributes-key.ts';

export interface WebhookAuthorizerOptions {
  readonly name: string;
  /** 0 disables caching. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly timeoutMs: number;
  readonly subjectAccessReviewVersion: ReviewVersion;
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  readonly matchConditions: readonly Expression[];
  readonly connection: () => WebhookConnection;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the pauses between attempts. */
  readonly signal: AbortSignal;
  readonly measures: WebhookMeasures;
  /** Reports a decision, or why there is none, by the error that callers get. */
  readonly reviewed: (error: Error | undefined) => void;
}

/** As in kube-apiserver, but all attempts together stay within the configured timeout. */
const createRetryPolicy = (timeoutMs: number): RetryPolicy => ({
  triesMax: 5,
  firstPauseMs: 500,
  growth: 1.5,
  jitter: 0.2,
  tryMs: timeoutMs,
  allMs: timeoutMs,
});
/** A review is some kilobytes. */
const reviewBytesMax = 1024 * 1024;

type ReviewResult = { readonly status: ReviewStatus } | { readonly failure: WebhookFailure; readonly error: Error };

const noOpinion: AccessDecision = { verdict: 'noOpinion' };

/**
 * Authorizes by a SubjectAccessReview to a webhook. Cached decisions are returned at once; concurrent equal requests share
 * one review.
 */
export function createWebhookAuthorizer(options: WebhookAuthorizerOptions): Authorizer {
  const { name, clock, failurePolicy, measures, reviewed } = options;
  const match = createConditionMatcher(options.matchConditions);
  const cache = new DecisionCache(options);
  const send = createReviewSender(options);
  const inFlight = new Map<string, Promise<ReviewResult>>();
  const verdictOnError = failurePolicy === 'Deny' ? 'deny' : 'noOpinion';

  const applyMatchConditions = (attributes: AccessAttributes): AccessDecision | undefined => {
    if (options.matchConditions.length === 0) return undefined;
    const startMs = clock.monotonicMs();
    const result = match(toReviewSpec(attributes));
    measures.conditions.evaluated((clock.monotonicMs() - startMs) / 1000);
    if (result === 'matches') return undefined;
    if (result === 'excluded') {
      measures.conditions.excluded();
      return noOpinion;
    }
    measures.conditions.failed();
    const error = new AuthorizationFailedError(`authorizer ${JSON.stringify(name)}: ${result.message}`, {
      cause: result.cause,
    });
    reviewed(error);
    // An error that does not deny is ignored: the webhook is skipped as if it had been excluded.
    return failurePolicy === 'Deny' ? { verdict: 'deny', error } : noOpinion;
  };
  const decide = (outcome: ReviewResult): AccessDecision => {
    if ('status' in outcome) return toDecision(name, outcome.status);
    if (failurePolicy === 'NoOpinion') measures.failedOpen(outcome.failure);
    return { verdict: verdictOnError, error: outcome.error };
  };
  const share = (key: string, attributes: AccessAttributes, call: Call): Promise<ReviewResult> => {
    const shared = inFlight.get(key);
    if (shared) return shared;
    const outcome = send(toReviewSpec(attributes), call).finally(() => inFlight.delete(key));
    inFlight.set(key, outcome);
    return outcome.then((found) => {
      if ('status' in found && !isContradiction(found.status)) cache.set(key, toDecision(name, found.status));
      return found;
    });
  };
  return {
    authorize: (attributes, call) => {
      const skipped = applyMatchConditions(attributes);
      if (skipped) return skipped;
      const key = getAttributesKey(attributes);
      const known = cache.get(key);
      return known ?? awaitWithin(clock, call, share(key, attributes, call)).then(decide);
    },
  };
}

/** Sends a review, which does not end with one of the requests that share it. Rejects only for internal errors. */
function createReviewSender(
  options: WebhookAuthorizerOptions,
): (spec: ReviewSpec, call: Call) => Promise<ReviewResult> {
  const { name, clock, timeoutMs, subjectAccessReviewVersion: version, connection, measures, reviewed } = options;
  const breaker = new CircuitBreaker(clock);
  const webhook: WebhookOptions = {
    ...options,
    retry: createRetryPolicy(timeoutMs),
    bodyBytesMax: reviewBytesMax,
  };
  const failureOf = ({ message, cause }: WebhookError): AuthorizationFailedError =>
    new AuthorizationFailedError(`authorizer ${JSON.stringify(name)}: ${message}`, { cause });
  return async (spec, call) => {
    const user = spec.user ?? '';
    if (!breaker.acquire(user)) {
      // Not logged: the failures that opened the circuit were.
      measures.rejected();
      return { failure: 'error', error: failureOf(new WebhookError('the webhook does not answer')) };
    }
    const startMs = clock.monotonicMs();
    const seconds = (): number => (clock.monotonicMs() - startMs) / 1000;
    try {
      const ofUser = { ...webhook, connection: () => observeAttempts(connection(), breaker, user) };
      const shared = callUntil(Number.POSITIVE_INFINITY, call.trace); // the retry policy ends it
      const status = parseStatus(await requestReview(createReview(spec, version), ofUser, shared), version);
      measures.evaluated('success', seconds());
      reviewed(isContradiction(status) ? createContradictionError(name) : undefined);
      return { status };
    } catch (error) {
      if (!(error instanceof WebhookError)) throw error;
      const kind = seconds() * 1000 >= timeoutMs ? 'timeout' : 'error';
      measures.evaluated(kind, seconds());
      const reported = failureOf(error);
      reviewed(reported);
      return { failure: kind, error: reported };
    } finally {
      breaker.release(user);
    }
  };
}

/** Records each attempt in the circuit breaker. Server errors count as failures. */
const observeAttempts = (connection: WebhookConnection, breaker: CircuitBreaker, user: string): WebhookConnection => ({
  ...connection,
  client: {
    send: async (request, call) => {
      try {
        const answer = await connection.client.send(request, call);
        if (answer.status >= 500 || answer.status === 429) breaker.recordFailure(user);
        else breaker.recordResponse(user);
        return answer;
      } catch (error) {
        breaker.recordFailure(user);
        throw error;
      }
    },
  },
});

const isContradiction = ({ allowed, denied }: ReviewStatus): boolean => allowed && denied;

const createContradictionError = (name: string): AuthorizationFailedError =>
  new AuthorizationFailedError(`authorizer ${JSON.stringify(name)}: the webhook both allowed and denied`);

function toDecision(name: string, status: ReviewStatus): AccessDecision {
  const { allowed, denied, reason } = status;
  const verdict = denied ? 'deny' : allowed ? 'allow' : 'noOpinion';
  const error = isContradiction(status) ? createContradictionError(name) : undefined;
  return { verdict, ...(reason && { reason }), ...(error && { error }) };
}
