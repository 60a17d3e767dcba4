import type { AuditBackend, AuditMeasures, BackendMeasures } from '@cluster-apiserver/audit';
import { type AuditLevel, auditLevels } from '@cluster-apiserver/config';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { asError } from '../as-error.ts';
import type { AuditPlugin } from './audit-settings.ts';

const plugins: readonly AuditPlugin[] = ['log', 'webhook'];

/** The audit metrics of kube-apiserver. */
export function createAuditMeasures(metrics: Metrics): AuditMeasures {
  const events = metrics.counter({
    name: 'apiserver_audit_event_total',
    help: 'Number of audit events passed to the audit backends.',
  });
  const levels = metrics.counter({
    name: 'apiserver_audit_level_total',
    help: 'Number of requests by the level of the audit policy.',
    labels: { level: auditLevels },
  });
  const rejected = metrics.counter({
    name: 'apiserver_audit_requests_rejected_total',
    help: 'Requests rejected because their audit events could not be recorded.',
  });
  const countEvent = events.series({});
  // A level appears in the metrics when it is first chosen.
  const countLevel = new Map<AuditLevel, () => void>();
  rejected.add({}, 0);
  return {
    event: () => countEvent(),
    level: (level) => {
      let count = countLevel.get(level);
      if (!count) countLevel.set(level, (count = levels.series({ level })));
      count();
    },
    rejected: () => rejected.add({}),
  };
}

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
