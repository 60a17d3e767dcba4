import type { AdmissionStep, ObserveAdmission } from '@cluster-apiserver/gates';
import type { Metrics } from '@cluster-apiserver/telemetry';

export interface AdmissionMeasures {
  readonly step: (step: AdmissionStep) => ObserveAdmission;
  /** Of one plugin. */
  readonly plugin: (name: string) => (step: AdmissionStep) => ObserveAdmission;
}

/** Upstream's buckets. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];

const operations = ['CREATE', 'UPDATE', 'DELETE'] as const;
const ofStep = { type: ['admit', 'validate'], operation: operations, rejected: ['true', 'false'] } as const;

/** Upstream's metrics, by the same names. The names of plugins are ours. */
export function admissionMeasures(metrics: Metrics): AdmissionMeasures {
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
    step: (type) => {
      const labels = labelsOf((operation, rejected) => ({ type, operation, rejected }));
      return (operation, rejected, seconds) => steps.observe(labels[operation][`${rejected}`], seconds);
    },
    plugin: (name) => (type) => {
      const labels = labelsOf((operation, rejected) => ({ name, type, operation, rejected }));
      return (operation, rejected, seconds) => plugins.observe(labels[operation][`${rejected}`], seconds);
    },
  };
}

type Operation = (typeof operations)[number];
type Rejected = 'true' | 'false';

/** The labels of each outcome, made once: a write observes several of them. */
const labelsOf = <Labels>(
  make: (operation: Operation, rejected: Rejected) => Labels,
): Readonly<Record<Operation, Readonly<Record<Rejected, Labels>>>> => {
  const of = (operation: Operation) => ({ true: make(operation, 'true'), false: make(operation, 'false') });
  return { CREATE: of('CREATE'), UPDATE: of('UPDATE'), DELETE: of('DELETE') };
};
