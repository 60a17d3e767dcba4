import {
  createAuditMeasures,
  uniteBackends,
  createAuditWebhook,
  createAuditor,
  openBackend,
  RotatingLog,
} from '@cluster-apiserver/audit';
import { asError, type CleanupStack } from '@cluster-apiserver/base';
import { loadAuditPolicy } from '@cluster-apiserver/config';
import type { ServerContext } from '../configuration/context.ts';
import type { Files } from '../environment.ts';
import { loadFlagFile } from '../files/flag-files.ts';
import { followConfiguration } from '../files/follow-configuration.ts';
import { followConnection, readConnection } from '../files/webhook-connection.ts';
import { FlagError } from '../flags/flag.ts';
import { createBackendMeasures } from './audit-measures.ts';
import type { AuditLogSettings, AuditPlugin, AuditSettings, AuditWebhookSettings } from './audit-settings.ts';

/** Concurrent requests: a slow webhook still receives further batches, and a dead one costs at most these. */
const webhookSendsMax = 4;

/** Records requests by --audit-policy-file; undefined if nothing is recorded. */
export async function openAudit(
  { policyFile, log: toLog, webhook: toWebhook }: AuditSettings,
  context: ServerContext,
  cleanup: CleanupStack,
): Promise<ReturnType<typeof createAuditor> | undefined> {
  const { environment, metrics, log } = context;
  const { clock } = environment;
  if ((toLog !== undefined || toWebhook !== undefined) !== (policyFile !== undefined))
    log.warn(
      // Meaning: No event is recorded, although a flag of auditing is set.
      'auditing is disabled: it requires --audit-policy-file and a backend, and one of them is not set',
      'set both --audit-policy-file and --audit-log-path or --audit-webhook-config-file, or neither: docs/audit.md',
    );
  if (!policyFile) return undefined;
  const policy = await followConfiguration(
    { file: policyFile, name: 'audit_policy', kind: 'Policy', build: (content) => loadAuditPolicy(content) },
    context,
    cleanup,
  );

  const stopping = new AbortController();
  const opened = new Map<AuditPlugin, ReturnType<typeof openBackend>>();
  const measuresOf = createBackendMeasures(context, opened);
  if (toLog) {
    const file = await openLog(toLog, context, cleanup);
    const send = (lines: readonly string[]): Promise<void> => file.append(lines);
    const { format, queue } = toLog;
    opened.set('log', openBackend({ ...queue, format, send, sendsMax: 1, measures: measuresOf('log'), clock }));
  }
  if (toWebhook) {
    const send = await openWebhook(toWebhook, context, stopping.signal, cleanup);
    const { queue } = toWebhook;
    const measures = measuresOf('webhook');
    opened.set('webhook', openBackend({ ...queue, format: 'json', send, sendsMax: webhookSendsMax, measures, clock }));
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
    report: (error) =>
      log.error(
        // Meaning: An event was larger than allowed, and is recorded without the bodies of the request and the
        // response.
        'audit event truncated',
        'raise --audit-log-truncate-max-event-size or the flag of the webhook, or lower the level in the policy: docs/audit.md',
        { error: asError(error) },
      ),
  });
}

/** Loads the files as they are loaded when they are put to use. */
export const auditFileChecks = ({ policyFile, webhook }: AuditSettings, files: Files): readonly Promise<unknown>[] => [
  loadFlagFile(policyFile, files, loadAuditPolicy),
  ...(webhook ? [readConnection(webhook.file, files)] : []),
];

async function openLog(
  { path, fileBytesMax, backupsMax, ageDaysMax, compress }: AuditLogSettings,
  { environment, log }: ServerContext,
  cleanup: CleanupStack,
): Promise<RotatingLog> {
  const file = new RotatingLog({
    files: environment.auditFiles,
    clock: environment.clock,
    path,
    fileBytesMax,
    backupsMax,
    ageDaysMax,
    compress,
    foundOtherWriter: () =>
      log.warn(
        // Meaning: Two replicas have the same file, for instance on a shared volume. Events can be lost or mixed when
        // one of them rotates it.
        'another process writes to the audit log file',
        'give each replica an --audit-log-path of its own: they rotate and truncate each other: docs/audit.md',
        { file: path },
      ),
    rotationFailed: (error) =>
      log.error(
        // Meaning: The file grows beyond its maximum size. No event is lost while there is space.
        'rotation of the audit log failed',
        'check the space and the rights of the directory; events are still written to the same file',
        { path, error: asError(error) },
      ),
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
  { file, initialBackoffMs }: AuditWebhookSettings,
  context: ServerContext,
  signal: AbortSignal,
  cleanup: CleanupStack,
): Promise<ReturnType<typeof createAuditWebhook>> {
  const { clock, random } = context.environment;
  const connection = await followConnection({ name: 'audit webhook', file }, context);
  cleanup.defer('connection of the audit webhook', connection.close);
  return createAuditWebhook({ connection: connection.current, initialBackoffMs, clock, random, signal });
}
