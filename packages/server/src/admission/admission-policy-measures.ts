import type { PolicyMeasures } from '@cluster-apiserver/policies';
import type { Metrics } from '@cluster-apiserver/telemetry';
import { createBoundedLabels, type OpenConditionMeasures } from './match-condition-measures.ts';

/** Buckets of kube-apiserver: expressions take less than a microsecond, or until their budget is used up. */
const buckets = [0.0000005, 0.001, 0.01, 0.1, 1];
const ofCheck = {
  policy: 'any',
  policy_binding: 'any',
  error_type: ['no_error', 'compile_error', 'invalid_error', 'out_of_budget'],
} as const;

/** The metrics of kube-apiserver for ValidatingAdmissionPolicies. */
export function createValidatingPolicyMeasures(
  metrics: Metrics,
  openConditions: OpenConditionMeasures,
): PolicyMeasures {
  const labels = { ...ofCheck, enforcement_action: ['allow', 'deny', 'warn', 'audit'] };
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
    checked: (policy, binding, error, action, took) => {
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
