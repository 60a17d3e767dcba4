import type { AuditMode } from '@cluster-apiserver/audit';
import { type FlagFile, fileOf } from '../files/flag-files.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { auditFlags } from './audit-flags.ts';

type Values = FlagValues<typeof auditFlags>;
export type AuditPlugin = 'log' | 'webhook';

export type AuditSettings = ReturnType<typeof auditSettingsOf>;

const megabyte = 1024 * 1024;
/** Maximum size of a write: the next events wait for as long as the disk takes for it. */
const writeCharactersMax = 256 * 1024;
/**
 * Iterations of the event loop that a due batch waits for more events: a write costs as much as about ten events. Waiting
 * longer would delay blocked requests, and in `batch` mode cost more garbage collection than it saves.
 */
const iterations = { log: 4, webhook: 1 } as const;
const batchWritesPerSecond = 200;
/** Maximum size of a webhook request, whose body is one string. */
const bodyCharactersMax = 10 * megabyte;

export function auditSettingsOf(values: Values, problems: string[]) {
  for (const plugin of ['log', 'webhook'] as const)
    if (values[`audit-${plugin}-truncate-max-batch-size`] < values[`audit-${plugin}-truncate-max-event-size`])
      problems.push(
        `--audit-${plugin}-truncate-max-batch-size must be at least --audit-${plugin}-truncate-max-event-size`,
      );
  return {
    policyFile: fileOf(values, 'audit-policy-file'),
    // A backend that is not used is undefined.
    log: values['audit-log-path'] === '' ? undefined : readLog(values),
    webhook: readWebhook(values, fileOf(values, 'audit-webhook-config-file')),
  };
}

export type AuditLogSettings = ReturnType<typeof readLog>;

const readLog = (values: Values) => ({
  path: values['audit-log-path'],
  format: values['audit-log-format'],
  fileBytesMax: values['audit-log-maxsize'] * megabyte,
  backupsMax: values['audit-log-maxbackup'],
  ageDaysMax: values['audit-log-maxage'],
  compress: values['audit-log-compress'],
  queue: readQueue('log', values, { eventsMax: Number.POSITIVE_INFINITY, charactersMax: writeCharactersMax }),
});

export type AuditWebhookSettings = NonNullable<ReturnType<typeof readWebhook>>;

const readWebhook = (values: Values, file: FlagFile | undefined) =>
  file && {
    file,
    initialBackoffMs: values['audit-webhook-initial-backoff'],
    queue: readQueue('webhook', values, {
      eventsMax: values['audit-webhook-batch-max-size'],
      charactersMax: bodyCharactersMax,
    }),
  };

/** What both backends have flags for. In blocking modes events never wait for further ones. */
function readQueue(
  plugin: AuditPlugin,
  values: Values,
  batch: { readonly eventsMax: number; readonly charactersMax: number },
) {
  const mode: AuditMode = values[`audit-${plugin}-mode`];
  const isTruncating = values[`audit-${plugin}-truncate-enabled`];
  const isBatching = mode === 'batch';
  return {
    mode,
    iterations: iterations[plugin],
    eventsMax: values[`audit-${plugin}-batch-buffer-size`],
    eventCharactersMax: isTruncating ? values[`audit-${plugin}-truncate-max-event-size`] : undefined,
    batch: {
      dueEvents: isBatching ? values[`audit-${plugin}-batch-max-size`] : 1,
      waitMs: isBatching ? values[`audit-${plugin}-batch-max-wait`] : 0,
      eventsMax: batch.eventsMax,
      charactersMax: isTruncating
        ? Math.min(batch.charactersMax, values[`audit-${plugin}-truncate-max-batch-size`])
        : batch.charactersMax,
    },
    throttle:
      isBatching && values[`audit-${plugin}-batch-throttle-enable`]
        ? {
            perSecond: values[`audit-${plugin}-batch-throttle-qps`],
            burst: values[`audit-${plugin}-batch-throttle-burst`],
            exceptFull: false,
          }
        : plugin === 'log' && isBatching
          ? { perSecond: batchWritesPerSecond, burst: 1, exceptFull: true }
          : undefined,
  };
}
