import type { AdmissionMeasures, ObserveAdmission } from '@cluster-apiserver/gates';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Upstream's buckets. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

const operations = ['CREATE', 'UPDATE', 'DELETE'] as const;
const ofStep = { type: ['admit', 'validate'], operation: operations, rejected: ['true', 'false'] } as const;

/** The admission metrics of kube-apiserver. Plugin names come from this server, so their number is bounded. */
export function createAdmissionMeasures(metrics: Metrics): AdmissionMeasures {
  const steps = metrics.histogram({
    name: 'apiserver_admission_step_admission_duration_seconds',
    help: 'Admission sub-step latency in seconds, by operation and step type (validate or admit).',
    labels: ofStep,
    buckets,
  });
  const plugins = metrics.histogram({
    name: 'apiserver_admission_controller_admission_duration_seconds',
    help: 'Admission plugin latency in seconds, by plugin name, operation and step type (validate or admit).',
    labels: { name: 'any', ...ofStep },
    buckets,
  });
  return {
    step: (type) => createObserver((operation, rejected) => steps.series({ type, operation, rejected })),
    plugin: (name, type) =>
      createObserver((operation, rejected) => plugins.series({ name, type, operation, rejected })),
  };
}

type Operation = (typeof operations)[number];
type Rejected = 'true' | 'false';
type Observe = (seconds: number) => void;

/** Caches the series: every write observes several of them. */
function createObserver(seriesOf: (operation: Operation, rejected: Rejected) => Observe): ObserveAdmission {
  const found: Readonly<Record<Operation, Partial<Record<Rejected, Observe>>>> = { CREATE: {}, UPDATE: {}, DELETE: {} };
  return (operation, rejected, seconds) => {
    const outcome = rejected ? 'true' : 'false';
    (found[operation][outcome] ??= seriesOf(operation, outcome))(seconds);
  };
}
