import { type Clock, type Work } from '@cluster-apiserver/base';
import { Budget, BudgetExceededError, Evaluation, requestStepsMax } from '@cluster-apiserver/expressions';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import { forbiddenName, type ServedKind, StatusError } from '@cluster-apiserver/model';
import { meetsConditions } from '../compiled.ts';
import { nameOf, type PolicyRequest } from '../request.ts';
import type { CallOptions } from './call-webhook.ts';
import type { CompiledWebhook } from './compiled-webhook.ts';
import { callFailed, WebhookCallError, WebhookDenialError } from './errors.ts';
import type { AdmissionWebhookMeasures } from './measures.ts';

export interface InvokeOptions extends CallOptions {
  readonly measures: AdmissionWebhookMeasures;
  /** Reports a call that failed. */
  readonly failed: (failure: WebhookFailure) => void;
}

export interface WebhookFailure {
  readonly webhook: string;
  readonly configuration: string;
  /** Whether the request went on. */
  readonly isIgnored: boolean;
  readonly error: Error;
}

/**
 * The resource by which the request matches a webhook; undefined if it does not. Throws the answer if a match condition
 * fails that must not.
 */
export function* matchWebhook(
  webhook: CompiledWebhook,
  request: PolicyRequest,
  { measures: { conditions }, clock }: InvokeOptions,
): Work<ServedKind | undefined> {
  const matched = webhook.matches(request);
  if (!matched || (webhook.conditions.length === 0 && webhook.fault === undefined)) return matched;
  const { name } = webhook;
  const { operation } = request.context;
  const startMs = clock.monotonicMs();
  const { isMet, error } = yield* evaluateConditions(webhook, request, matched);
  conditions.evaluated(name, operation, secondsSince(startMs, clock));
  if (error === undefined) {
    if (!isMet) conditions.excluded(name, operation);
    return isMet ? matched : undefined;
  }
  conditions.failed(name, operation);
  if (webhook.isIgnoredOnFailure) return undefined;
  throw forbiddenName(request.context.resource, nameOf(request.context), error);
}

function* evaluateConditions(
  { conditions, fault }: CompiledWebhook,
  request: PolicyRequest,
  matched: ServedKind,
): Work<{ readonly isMet?: boolean; readonly error?: string }> {
  if (fault !== undefined) return { error: fault };
  const values = request.valuesFor(matched, undefined);
  try {
    const evaluation = new Evaluation(values, undefined, new Budget(requestStepsMax));
    const met = yield* meetsConditions(evaluation, conditions);
    return met.error === undefined ? { isMet: met.value } : { error: met.error };
  } catch (error) {
    if (error instanceof BudgetExceededError) return { error: error.message };
    throw error;
  }
}

/**
 * Does the work of one webhook, counts it, and turns a failure into what it means: undefined for one that is ignored,
 * else an answer that is thrown.
 */
export async function invokeWebhook<T>(
  webhook: CompiledWebhook,
  context: AdmissionContext,
  failedOpenKey: string,
  { measures, failed, clock }: InvokeOptions,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { name, configuration, isIgnoredOnFailure } = webhook;
  const { operation } = context;
  const { externalWait } = context.call;
  const startMs = clock.monotonicMs();
  externalWait?.begin(startMs);
  const called = (isRejected: boolean, code: number): void =>
    measures.called(name, operation, isRejected, code, secondsSince(startMs, clock));
  try {
    const value = await work();
    called(false, 200);
    return value;
  } catch (error) {
    if (error instanceof WebhookDenialError) {
      const { status } = error;
      called(true, status.code);
      measures.rejected(name, operation, 'no_error', status.code);
      throw status;
    }
    if (!(error instanceof WebhookCallError)) {
      called(true, 0);
      if (error instanceof StatusError) measures.rejected(name, operation, 'apiserver_internal_error', 0);
      throw error;
    }
    called(!isIgnoredOnFailure, error.code);
    failed({ webhook: name, configuration, isIgnored: isIgnoredOnFailure, error });
    if (!isIgnoredOnFailure) {
      measures.rejected(name, operation, 'calling_webhook_error', error.code);
      throw callFailed(name, error);
    }
    measures.failedOpen(name);
    context.annotate(failedOpenKey, name);
    return undefined;
  } finally {
    externalWait?.end(clock.monotonicMs());
  }
}

const secondsSince = (startMs: number, clock: Clock): number => (clock.monotonicMs() - startMs) / 1000;
