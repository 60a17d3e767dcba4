import type { AdmissionWebhookMeasures } from '@cluster-apiserver/policies';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Upstream's buckets and labels. */
const secondsBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const conditionSecondsBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const operation = ['CREATE', 'UPDATE', 'DELETE'];
const type = ['admit', 'validating'];
const rejected = ['true', 'false'];

/** Names of webhooks that become labels, so that configurations under ever new names do not fill the memory. */
const namesMax = 1_000;

/** Upstream's metrics of admission webhooks, by the same names. */
export function admissionWebhookMeasures(
  metrics: Metrics,
): Readonly<Record<'admit' | 'validating', AdmissionWebhookMeasures>> {
  const seconds = metrics.histogram({
    name: 'apiserver_admission_webhook_admission_duration_seconds',
    help: 'Time that admission webhooks took, by name, type and operation.',
    labels: { name: 'any', type, operation, rejected },
    buckets: secondsBuckets,
  });
  const requests = metrics.counter({
    name: 'apiserver_admission_webhook_request_total',
    help: 'Requests to admission webhooks, by name, type, operation and HTTP code.',
    labels: { name: 'any', type, operation, code: 'any', rejected },
  });
  const rejections = metrics.counter({
    name: 'apiserver_admission_webhook_rejection_count',
    help: 'Requests that admission webhooks rejected, or that were rejected because a call failed.',
    labels: {
      name: 'any',
      type,
      operation,
      error_type: ['calling_webhook_error', 'apiserver_internal_error', 'no_error'],
      rejection_code: 'any',
    },
  });
  const failOpen = metrics.counter({
    name: 'apiserver_admission_webhook_fail_open_count',
    help: 'Calls of admission webhooks that failed and were ignored.',
    labels: { name: 'any', type },
  });
  const ofConditions = { name: 'any', kind: ['webhook'], type, operation } as const;
  const conditionSeconds = metrics.histogram({
    name: 'apiserver_admission_match_condition_evaluation_seconds',
    help: 'Time that the match conditions of an admission webhook took.',
    labels: ofConditions,
    buckets: conditionSecondsBuckets,
  });
  const conditionErrors = metrics.counter({
    name: 'apiserver_admission_match_condition_evaluation_errors_total',
    help: 'Requests for which match conditions could not be evaluated and none was false.',
    labels: ofConditions,
  });
  const exclusions = metrics.counter({
    name: 'apiserver_admission_match_condition_exclusions_total',
    help: 'Requests that a match condition excluded from an admission webhook.',
    labels: ofConditions,
  });

  const names = new Set<string>();
  const labelOf = (name: string): string => {
    if (names.size < namesMax) names.add(name);
    return names.has(name) ? name : 'other';
  };
  const measuresOf = (of: 'admit' | 'validating'): AdmissionWebhookMeasures => ({
    called: (webhook, op, isRejected, code, took) => {
      const labels = { name: labelOf(webhook), type: of, operation: op, rejected: String(isRejected) };
      seconds.observe(labels, took);
      requests.add({ ...labels, code: String(code) });
    },
    rejected: (webhook, op, errorType, code) =>
      rejections.add({
        name: labelOf(webhook),
        type: of,
        operation: op,
        error_type: errorType,
        rejection_code: String(code),
      }),
    failedOpen: (webhook) => failOpen.add({ name: labelOf(webhook), type: of }),
    conditions: {
      evaluated: (webhook, op, took) =>
        conditionSeconds.observe({ name: labelOf(webhook), kind: 'webhook', type: of, operation: op }, took),
      excluded: (webhook, op) => exclusions.add({ name: labelOf(webhook), kind: 'webhook', type: of, operation: op }),
      failed: (webhook, op) =>
        conditionErrors.add({ name: labelOf(webhook), kind: 'webhook', type: of, operation: op }),
    },
  });
  return { admit: measuresOf('admit'), validating: measuresOf('validating') };
}
