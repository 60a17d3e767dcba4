import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { Metrics } from '@cluster-apiserver/telemetry';
import { createBoundedLabels, type OpenConditionMeasures } from '../condition-measures.ts';

/** Upstream's buckets and labels. */
const secondsBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25];
const operation = ['CREATE', 'UPDATE', 'DELETE'];
const type = ['admit', 'validating'];
const rejected = ['true', 'false'];

const errorTypes = ['calling_webhook_error', 'apiserver_internal_error', 'no_error'] as const;
type Operation = AdmissionContext['operation'];
export type RejectionErrorType = (typeof errorTypes)[number];
/** Metrics of the webhooks of one type. */
export type AdmissionWebhookMeasures = ReturnType<typeof createAdmissionWebhookMeasures>['admit'];

/** The metrics of kube-apiserver for admission webhooks. */
export function createAdmissionWebhookMeasures(metrics: Metrics, openConditions: OpenConditionMeasures) {
  const seconds = metrics.histogram({
    name: 'apiserver_admission_webhook_admission_duration_seconds',
    help: 'Duration of calls to admission webhooks, by name, type and operation.',
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
    help: 'Number of requests that admission webhooks rejected, or that were rejected because a call failed.',
    labels: {
      name: 'any',
      type,
      operation,
      error_type: errorTypes,
      rejection_code: 'any',
    },
  });
  const failOpen = metrics.counter({
    name: 'apiserver_admission_webhook_fail_open_count',
    help: 'Calls of admission webhooks that failed and were ignored.',
    labels: { name: 'any', type },
  });
  const labelOf = createBoundedLabels();
  const measuresOf = (of: 'admit' | 'validating') => ({
    /** A webhook was called. The code is 0 for an internal error. */
    called: (webhook: string, op: Operation, isRejected: boolean, code: number, took: number): void => {
      const labels = { name: labelOf(webhook), type: of, operation: op, rejected: String(isRejected) };
      seconds.observe(labels, took);
      requests.add({ ...labels, code: String(code) });
    },
    rejected: (webhook: string, op: Operation, errorType: RejectionErrorType, code: number): void =>
      rejections.add({
        name: labelOf(webhook),
        type: of,
        operation: op,
        error_type: errorType,
        rejection_code: String(code),
      }),
    /** A call failed, and the request went on. */
    failedOpen: (webhook: string): void => failOpen.add({ name: labelOf(webhook), type: of }),
    conditions: openConditions('webhook', of, labelOf),
  });
  return { admit: measuresOf('admit'), validating: measuresOf('validating') };
}
