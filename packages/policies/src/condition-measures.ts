import type { AdmissionContext } from '@cluster-apiserver/gates';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Label values of kube-apiserver for objects with match conditions. */
const types = { policy: ['admit', 'validate'], webhook: ['admit', 'validating'] } as const;
type Owner = keyof typeof types;

export type OpenConditionMeasures = ReturnType<typeof createConditionMeasures>;
/** Metrics of match conditions, by name of the policy or webhook. */
export type ConditionMeasures = ReturnType<OpenConditionMeasures>;

/** Maps the name of an object to a label value. */
type LabelOf = (name: string) => string;
type Operation = AdmissionContext['operation'];

/** Bounds the number of series: objects can be created under ever new names. */
const namesMax = 1_000;

export function createBoundedLabels(): LabelOf {
  const names = new Set<string>();
  return (name) => {
    if (names.size < namesMax) names.add(name);
    return names.has(name) ? name : 'other';
  };
}

/** Upstream's buckets. */
const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
const labels = {
  name: 'any',
  kind: Object.keys(types),
  type: [...new Set(Object.values(types).flat())],
  operation: ['CREATE', 'UPDATE', 'DELETE'],
} as const;

/** The match condition metrics of kube-apiserver. The result opens those of the policies or webhooks of one type. */
export function createConditionMeasures(metrics: Metrics) {
  const seconds = metrics.histogram({
    name: 'apiserver_admission_match_condition_evaluation_seconds',
    help: 'Evaluation time of the match conditions of a policy or an admission webhook.',
    labels,
    buckets,
  });
  const errors = metrics.counter({
    name: 'apiserver_admission_match_condition_evaluation_errors_total',
    help: 'Requests for which match conditions could not be evaluated and none was false.',
    labels,
  });
  const exclusions = metrics.counter({
    name: 'apiserver_admission_match_condition_exclusions_total',
    help: 'Requests that a match condition excluded from a policy or an admission webhook.',
    labels,
  });
  return <Kind extends Owner>(kind: Kind, type: (typeof types)[Kind][number], labelOf: LabelOf) => ({
    evaluated: (name: string, operation: Operation, took: number): void =>
      seconds.observe({ name: labelOf(name), kind, type, operation }, took),
    /** A condition was false. */
    excluded: (name: string, operation: Operation): void =>
      exclusions.add({ name: labelOf(name), kind, type, operation }),
    /** None was false, and at least one could not be evaluated. */
    failed: (name: string, operation: Operation): void => errors.add({ name: labelOf(name), kind, type, operation }),
  });
}
