import {
  uniteBackends,
  type AuditMode,
  createAuditWebhook,
  createAuditor,
  openBackend,
  RotatingLog,
} from '@cluster-apiserver/audit';
import type { CleanupStack } from '@cluster-apiserver/base';
import { loadAuditPolicy } from '@cluster-apiserver/config';
import { asError } from '../as-error.ts';
import { FlagError, type ServerFlags } from '../flags/flags.ts';
import { createAuditMeasures, type AuditPlugin, createBackendMeasures } from './audit-measures.ts';
import { fileOf } from '../files/flag-files.ts';
import type { WiringContext } from '../configuration/context.ts';
import { followConfiguration } from '../files/follow-configuration.ts';
import { followConnection } from '../files/webhook-connection.ts';

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
/** Concurrent requests: a slow webhook still receives further batches, and a dead one costs at most these. */
const webhookSendsMax = 4;

/** Records requests by --audit-policy-file; undefined if nothing is recorded. */
export async function openAudit(
  options: WiringContext,
  cleanup: CleanupStack,
): Promise<ReturnType<typeof createAuditor> | undefined> {
  const { flags, environment, metrics, log } = options;
  checkAuditFlags(flags);
  const file = fileOf(flags, 'audit-policy-file');
  const policy =
    file &&
    (await followConfiguration(
      { file, name: 'audit_policy', kind: 'Policy', build: (content) => loadAuditPolicy(content) },
      options,
      cleanup,
    ));
  const hasBackend = flags['audit-log-path'] !== '' || flags['audit-webhook-config-file'] !== '';
  if (hasBackend !== (policy !== undefined))
    log.warn('auditing is disabled: it requires --audit-policy-file and a backend, and one of them is not set');
  if (!policy) return undefined;

  const stopping = new AbortController();
  const opened = new Map<AuditPlugin, OpenBackend>();
  const measuresOf = createBackendMeasures(metrics, log, opened);
  const { clock } = environment;
  if (flags['audit-log-path'] !== '') {
    const logFile = await openLog(options, cleanup);
    const batch = { eventsMax: Number.POSITIVE_INFINITY, charactersMax: writeCharactersMax };
    const backend = openBackend({
      ...getBackendSettings('log', flags, batch),
      format: flags['audit-log-format'],
      send: (lines) => logFile.append(lines),
      sendsMax: 1,
      measures: measuresOf('log'),
      clock,
    });
    opened.set('log', backend);
  }
  if (flags['audit-webhook-config-file'] !== '') {
    const batch = { eventsMax: flags['audit-webhook-batch-max-size'], charactersMax: bodyCharactersMax };
    const backend = openBackend({
      ...getBackendSettings('webhook', flags, batch),
      format: 'json',
      send: await openWebhook(options, stopping.signal, cleanup),
      sendsMax: webhookSendsMax,
      measures: measuresOf('webhook'),
      clock,
    });
    opened.set('webhook', backend);
  }
  const [first, ...others] = opened.values();
  if (!first) return undefined;
  const backend = uniteBackends([first, ...others]);
  cleanup.defer('audit backends', () => {
    stopping.abort();
    return backend.close();
  });
  return createAuditor({
    clock,
    policy: policy.current,
    backend,
    measures: createAuditMeasures(metrics),
    report: (error) => log.error('audit event truncated', { error: asError(error) }),
  });
}

type OpenBackend = ReturnType<typeof openBackend>;

/** Throws a FlagError with all problems of the audit flags. */
export function checkAuditFlags(flags: ServerFlags): void {
  const faults = (['log', 'webhook'] as const)
    .filter(
      (plugin) => flags[`audit-${plugin}-truncate-max-batch-size`] < flags[`audit-${plugin}-truncate-max-event-size`],
    )
    .map(
      (plugin) =>
        `--audit-${plugin}-truncate-max-batch-size must be at least --audit-${plugin}-truncate-max-event-size`,
    );
  if (faults.length > 0) throw new FlagError(faults);
}

/** Settings that both backends have flags for. In blocking modes events never wait for further ones. */
function getBackendSettings(
  plugin: AuditPlugin,
  flags: ServerFlags,
  batch: { readonly eventsMax: number; readonly charactersMax: number },
) {
  const mode: AuditMode = flags[`audit-${plugin}-mode`];
  const isTruncating = flags[`audit-${plugin}-truncate-enabled`];
  const isBatching = mode === 'batch';
  return {
    mode,
    iterations: iterations[plugin],
    eventsMax: flags[`audit-${plugin}-batch-buffer-size`],
    eventCharactersMax: isTruncating ? flags[`audit-${plugin}-truncate-max-event-size`] : undefined,
    batch: {
      dueEvents: isBatching ? flags[`audit-${plugin}-batch-max-size`] : 1,
      waitMs: isBatching ? flags[`audit-${plugin}-batch-max-wait`] : 0,
      eventsMax: batch.eventsMax,
      charactersMax: isTruncating
        ? Math.min(batch.charactersMax, flags[`audit-${plugin}-truncate-max-batch-size`])
        : batch.charactersMax,
    },
    throttle:
      isBatching && flags[`audit-${plugin}-batch-throttle-enable`]
        ? {
            perSecond: flags[`audit-${plugin}-batch-throttle-qps`],
            burst: flags[`audit-${plugin}-batch-throttle-burst`],
            exceptFull: false,
          }
        : plugin === 'log' && isBatching
          ? { perSecond: batchWritesPerSecond, burst: 1, exceptFull: true }
          : undefined,
  };
}

async function openLog({ flags, environment, log }: WiringContext, cleanup: CleanupStack): Promise<RotatingLog> {
  const path = flags['audit-log-path'];
  const file = new RotatingLog({
    files: environment.auditFiles,
    clock: environment.clock,
    path,
    fileBytesMax: flags['audit-log-maxsize'] * megabyte,
    backupsMax: flags['audit-log-maxbackup'],
    ageDaysMax: flags['audit-log-maxage'],
    compress: flags['audit-log-compress'],
    rotationFailed: (error) => log.error('rotation of the audit log failed', { path, error: asError(error) }),
  });
  try {
    await file.open();
  } catch (error) {
    throw new FlagError([`--audit-log-path: cannot write ${path}: ${asError(error).message}`]);
  }
  cleanup.defer('audit log', () => file.close());
  return file;
}

async function openWebhook(
  { flags, environment, log, records }: WiringContext,
  signal: AbortSignal,
  cleanup: CleanupStack,
): Promise<ReturnType<typeof createAuditWebhook>> {
  const { clock, random } = environment;
  const flag = 'audit-webhook-config-file';
  const connection = await followConnection(
    { name: 'audit webhook', file: { flag, path: flags[flag] } },
    { environment, log, records },
  );
  cleanup.defer('connection of the audit webhook', connection.close);
  return createAuditWebhook({
    connection: connection.current,
    initialBackoffMs: flags['audit-webhook-initial-backoff'],
    clock,
    random,
    signal,
  });
}
