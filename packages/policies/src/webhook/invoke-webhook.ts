import { awaitValue, type Task } from '@cluster-apiserver/base';
import { Budget, Evaluation, requestStepsMax } from '@cluster-apiserver/expressions';
import type { AdmissionContext } from '@cluster-apiserver/gates';
import { forbiddenResource, StatusError } from '@cluster-apiserver/model';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { AdmissionWebhookMeasures } from './webhook-measures.ts';
import { evaluateConditions, type Evaluated, secondsSince } from '../evaluate.ts';
import { nameOf, type PolicyRequest } from '../request.ts';
import type { CallOptions } from './call-webhook.ts';
import type { CompiledWebhook } from './compiled-webhook.ts';
import { createCallFailure, WebhookCallError, WebhookDenialError } from './errors.ts';

export interface InvokeOptions extends CallOptions {
  readonly measures: AdmissionWebhookMeasures;
  /** Reports a call, with the error of one that failed. */
  readonly reportCall: (webhook: CompiledWebhook, error: Error | undefined) => void;
}

/**
 * The resource by which the request matches a webhook; undefined if it does not match. Throws a StatusError if a match
 * condition fails and the failure policy is Fail.
 */
export function* matchWebhook(
  webhook: CompiledWebhook,
  request: PolicyRequest,
  { measures, clock }: InvokeOptions,
): Task<ServedKind | undefined> {
  const matched = webhook.matches(request);
  if (matched) yield* awaitValue(request.convertTo(matched));
  if (!matched || (webhook.conditions.length === 0 && webhook.fault === undefined)) return matched;
  const { name, conditions, fault } = webhook;
  const { resource, operation } = request.context;
  let met: Evaluated<boolean>;
  if (fault === undefined) {
    // Each webhook has a budget of its own: its failure policy decides alone.
    const evaluation = new Evaluation(request.getValues(matched, undefined), undefined, new Budget(requestStepsMax));
    met = yield* evaluateConditions(evaluation, conditions, { name, operation, measures: measures.conditions, clock });
  } else {
    measures.conditions.failed(name, operation);
    met = { error: fault, type: 'compile_error' };
  }
  if (met.error === undefined) return met.value ? matched : undefined;
  if (webhook.isIgnoredOnFailure) return undefined;
  throw forbiddenResource(resource, nameOf(request.context), met.error);
}

/** Measures the call `work`, and applies the failure policy. Undefined if a failure is ignored; else throws a StatusError. */
export async function invokeWebhook<T>(
  webhook: CompiledWebhook,
  context: AdmissionContext,
  failedOpenKey: string,
  { measures, reportCall, clock }: InvokeOptions,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { name, isIgnoredOnFailure } = webhook;
  const { operation } = context;
  const { latency } = context.call;
  const startMs = clock.monotonicMs();
  latency?.begin('webhooks');
  const called = (isRejected: boolean, code: number): void =>
    measures.called(name, operation, isRejected, code, secondsSince(startMs, clock));
  try {
    const value = await work();
    called(false, 200);
    reportCall(webhook, undefined);
    return value;
  } catch (error) {
    if (error instanceof WebhookDenialError) {
      const { status } = error;
      called(true, status.code);
      reportCall(webhook, undefined);
      measures.rejected(name, operation, 'no_error', status.code);
      throw status;
    }
    if (!(error instanceof WebhookCallError)) {
      called(true, 0);
      if (error instanceof StatusError) measures.rejected(name, operation, 'apiserver_internal_error', 0);
      throw error;
    }
    called(!isIgnoredOnFailure, error.code);
    reportCall(webhook, error);
    if (!isIgnoredOnFailure) {
      measures.rejected(name, operation, 'calling_webhook_error', error.code);
      throw createCallFailure(name, error);
    }
    measures.failedOpen(name);
    context.annotate(failedOpenKey, name);
    return undefined;
  } finally {
    latency?.end('webhooks');
  }
}
