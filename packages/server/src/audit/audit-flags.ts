import { type AuditMode, auditModes } from '@cluster-apiserver/audit';
import { durationMs, fraction, boolean, integer, oneOf, path } from '../flags/flag.ts';

const versions = ['audit.k8s.io/v1'] as const;
/** Larger than any useful value, and small enough to be counted in bytes. */
const countMax = 2 ** 31 - 1;
const megabytesMax = 2 ** 20;

const bufferSize = 'Maximum number of events that wait for the backend; further ones are lost, and counted.';
const batchWait =
  'Time to wait for more events before a batch that has not reached its maximum size is sent; 0 sends at once. Only in batch mode.';
const throttleEnable = 'Limit how many batches are sent per second. Only in batch mode.';
const throttleQps = 'Maximum average number of batches per second. Only in batch mode with throttling.';
const throttleBurst =
  'Maximum number of batches sent at once if fewer than the average were sent before. Only in batch mode with throttling.';
const truncateEnabled = 'Remove the objects from events that are too large, and split batches that are too large.';
const truncateEvent =
  'Maximum size of an event in bytes. A larger one loses its objects, and is lost if that is not enough. Only with truncating.';
const truncateBatch = 'Maximum size of a batch in bytes. A larger one is split. Only with truncating.';

/** Audit policy, log backend and webhook backend, as in kube-apiserver. */
export const auditFlags = {
  'audit-policy-file': path(
    'Policy of audit.k8s.io/v1 that selects the recorded requests, and their level of detail. Reloaded when it changes. Without it nothing is recorded.',
  ),
  'audit-log-path': path(
    'File that audit events are written to; - is the standard output. Without it there is no log backend.',
  ),
  'audit-log-format': oneOf<'json' | 'legacy'>(
    'Format of the audit log: json has one event per line, legacy the most important facts as text.',
    'json',
    ['json', 'legacy'],
  ),
  'audit-log-version': oneOf<(typeof versions)[number]>(
    'API group and version of the events in the audit log.',
    'audit.k8s.io/v1',
    versions,
  ),
  'audit-log-mode': oneOf<AuditMode>(
    'Treatment of events that cannot be written: batch never holds a request, blocking holds it until the event is written or has failed, blocking-strict also rejects a request whose first event fails.',
    'blocking',
    auditModes,
  ),
  'audit-log-maxsize': integer('Maximum size of the audit log file in megabytes before it is rotated.', '100', [
    1,
    megabytesMax,
  ]),
  'audit-log-maxbackup': integer('Maximum number of rotated audit log files to retain; 0 retains all.', '0', [
    0,
    countMax,
  ]),
  'audit-log-maxage': integer('Maximum number of days to retain rotated audit log files; 0 retains all.', '0', [
    0,
    countMax,
  ]),
  'audit-log-compress': boolean('Compress rotated audit log files with gzip.'),
  'audit-log-batch-buffer-size': integer(bufferSize, '10000', [1, countMax]),
  'audit-log-batch-max-size': integer(
    'Number of events that are written without waiting for more. Whatever waits by then is written at once. Only in batch mode.',
    '1',
    [1, countMax],
  ),
  'audit-log-batch-max-wait': durationMs(batchWait, '0s'),
  'audit-log-batch-throttle-enable': boolean(throttleEnable),
  'audit-log-batch-throttle-qps': fraction(throttleQps, '10', [0.001, countMax]),
  'audit-log-batch-throttle-burst': integer(throttleBurst, '15', [1, countMax]),
  'audit-log-truncate-enabled': boolean(truncateEnabled),
  'audit-log-truncate-max-event-size': integer(truncateEvent, '102400', [1, countMax]),
  'audit-log-truncate-max-batch-size': integer(truncateBatch, '10485760', [1, countMax]),
  'audit-webhook-config-file': path(
    'Kubeconfig with the address and the credentials of the audit webhook. Reloaded when it changes. Without it there is no webhook backend.',
  ),
  'audit-webhook-version': oneOf<(typeof versions)[number]>(
    'API group and version of the events sent to the audit webhook.',
    'audit.k8s.io/v1',
    versions,
  ),
  'audit-webhook-mode': oneOf<AuditMode>(
    'Treatment of events that cannot be sent: batch never holds a request, blocking holds it until the event is sent or has failed, blocking-strict also rejects a request whose first event fails.',
    'batch',
    auditModes,
  ),
  'audit-webhook-initial-backoff': durationMs(
    'Time to wait before the first retry of a failed batch; each further one waits longer.',
    '10s',
  ),
  'audit-webhook-batch-buffer-size': integer(bufferSize, '10000', [1, countMax]),
  'audit-webhook-batch-max-size': integer('Maximum number of events of a batch.', '400', [1, countMax]),
  'audit-webhook-batch-max-wait': durationMs(batchWait, '30s'),
  'audit-webhook-batch-throttle-enable': boolean(throttleEnable, 'true'),
  'audit-webhook-batch-throttle-qps': fraction(throttleQps, '10', [0.001, countMax]),
  'audit-webhook-batch-throttle-burst': integer(throttleBurst, '15', [1, countMax]),
  'audit-webhook-truncate-enabled': boolean(truncateEnabled),
  'audit-webhook-truncate-max-event-size': integer(truncateEvent, '102400', [1, countMax]),
  'audit-webhook-truncate-max-batch-size': integer(truncateBatch, '10485760', [1, countMax]),
};
