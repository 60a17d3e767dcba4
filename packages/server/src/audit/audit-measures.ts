import { asError } from '@cluster-apiserver/base';
import type { AuditBackend, BackendMeasures } from '@cluster-apiserver/audit';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import type { AuditPlugin } from './audit-settings.ts';

const plugins: readonly AuditPlugin[] = ['log', 'webhook'];

/** Counts lost and queued events by backend. */
export function createBackendMeasures(
  metrics: Metrics,
  log: Log,
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
  return (plugin) => {
    errors.add({ plugin }, 0);
    return {
      lost: (error, events) => {
        errors.add({ plugin }, events);
        log.error('audit events lost', { plugin, events, error: asError(error) });
      },
    };
  };
}
