import type { Metrics } from '@cluster-apiserver/telemetry';
import { createBoundedLabels, type OpenConditionMeasures } from './condition-measures.ts';

/** Buckets of kube-apiserver: expressions take less than a microsecond, or until their budget is used up. */
const buckets = [0.0000005, 0.001, 0.01, 0.1, 1];
const errors = ['no_error', 'compile_error', 'invalid_error', 'out_of_budget'] as const;
const actions = ['allow', 'deny', 'warn', 'audit'] as const;
const ofCheck = { policy: 'any', policy_binding: 'any', error_type: errors } as const;

/** Why an expression has no value. Named as in kube-apiserver. */
export type CheckError = (typeof errors)[number];
/** The effect on the request. Named as in kube-apiserver. */
export type Enforcement = (typeof actions)[number];
/** Metrics of the policies of one type. */
export type PolicyMeasures = ReturnType<typeof createValidatingPolicyMeasures>;

/** The metrics of kube-apiserver for ValidatingAdmissionPolicies. */
export function createValidatingPolicyMeasures(metrics: Metrics, openConditions: OpenConditionMeasures) {
  const labels = { ...ofCheck, enforcement_action: actions };
  const checks = metrics.counter({
    name: 'apiserver_validating_admission_policy_check_total',
    help: 'Number of validations that were false or failed, by policy, binding and enforcement action.',
    labels,
  });
  const seconds = metrics.histogram({
    name: 'apiserver_validating_admission_policy_check_duration_seconds',
    help: 'Evaluation time of validations that were false or failed, by policy, binding and enforcement action.',
    labels,
    buckets,
  });
  const labelOf = createBoundedLabels();
  return {
    conditions: openConditions('policy', 'validate', labelOf),
    /** An expression was evaluated. Validations that hold are not counted, as in kube-apiserver. */
    checked: (policy: string, binding: string, error: CheckError, action: Enforcement, took: number): void => {
      const of = {
        policy: labelOf(policy),
        policy_binding: labelOf(binding),
        error_type: error,
        enforcement_action: action,
      };
      checks.add(of);
      seconds.observe(of, took);
    },
  };
}

/** The metrics of kube-apiserver for MutatingAdmissionPolicies. */
export function createMutatingPolicyMeasures(metrics: Metrics, openConditions: OpenConditionMeasures): PolicyMeasures {
  const checks = metrics.counter({
    name: 'apiserver_mutating_admission_policy_check_total',
    help: 'Number of evaluated mutations, by policy and binding.',
    labels: ofCheck,
  });
  const seconds = metrics.histogram({
    name: 'apiserver_mutating_admission_policy_check_duration_seconds',
    help: 'Evaluation time of mutations, by policy and binding.',
    labels: ofCheck,
    buckets,
  });
  const labelOf = createBoundedLabels();
  return {
    conditions: openConditions('policy', 'admit', labelOf),
    checked: (policy, binding, error, _, took) => {
      const of = { policy: labelOf(policy), policy_binding: labelOf(binding), error_type: error };
      checks.add(of);
      seconds.observe(of, took);
    },
  };
}
