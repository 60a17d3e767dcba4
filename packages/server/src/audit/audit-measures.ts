import { asError } from '@cluster-apiserver/base';
import type { AuditBackend, BackendMeasures } from '@cluster-apiserver/audit';
import { createOutages } from '@cluster-apiserver/telemetry';
import type { ServerContext } from '../configuration/context.ts';
import type { AuditPlugin } from './audit-settings.ts';

const plugins: readonly AuditPlugin[] = ['log', 'webhook'];

/** Counts lost and queued events by backend. */
export function createBackendMeasures(
  { metrics, log, environment: { clock } }: ServerContext,
  opened: ReadonlyMap<AuditPlugin, AuditBackend & { readonly queuedEvents: number }>,
): (plugin: AuditPlugin) => BackendMeasures {
  const errors = metrics.counter({
    name: 'apiserver_audit_error_total',
    help: 'Audit events that an audit backend lost.',
    labels: { plugin: plugins },
  });
  metrics.readAtScrape<'plugin'>(
    'gauge',
    {
      name: 'apiserver_audit_queued_events',
      help: 'Audit events that wait for an audit backend or are being sent.',
      labels: ['plugin'],
    },
    () => Array.from(opened, ([plugin, { queuedEvents }]) => ({ labels: { plugin }, value: queuedEvents })),
  );
  const outages = createOutages(log.withName('audit'), clock, {
    severity: 'error',
    // Meaning: Requests were served whose events no backend has. The queue was full, or the backend refused them.
    began: 'audit events lost',
    remedy:
      'check the disk of --audit-log-path, or the receiver of --audit-webhook-config-file; the mode blocking waits for them: docs/audit.md',
    ended: 'audit events are recorded again',
    steadyMs: 10_000,
  });
  return (plugin) => {
    errors.add({ plugin }, 0);
    return {
      lost: (error, events) => {
        errors.add({ plugin }, events);
        outages.failed({ plugin }, { events, error: asError(error) });
      },
      sent: () => outages.succeeded({ plugin }),
    };
  };
}
