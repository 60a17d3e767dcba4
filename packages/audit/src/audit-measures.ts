import { type AuditLevel, auditLevels } from '@cluster-apiserver/config';
import type { Metrics } from '@cluster-apiserver/telemetry';

export type AuditMeasures = ReturnType<typeof createAuditMeasures>;

/** The audit metrics of kube-apiserver. */
export function createAuditMeasures(metrics: Metrics) {
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
    /** An event was created. */
    event: (): void => countEvent(),
    /** The level that the policy chose for a request. */
    level: (level: AuditLevel): void => {
      let count = countLevel.get(level);
      if (!count) countLevel.set(level, (count = levels.series({ level })));
      count();
    },
    /** A request was rejected because its first event could not be recorded. */
    rejected: (): void => rejected.add({}),
  };
}
