import { expect, test } from '@jest/globals';
import { createMetrics } from '@cluster-apiserver/telemetry';
import { exposed } from '@cluster-apiserver/testkit/exposition';
import { createMutatingPolicyMeasures, createValidatingPolicyMeasures } from './policy-measures.ts';
import { createConditionMeasures } from './condition-measures.ts';

test('checks and conditions of policies are counted under the names and labels of kube-apiserver', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const conditions = createConditionMeasures(metrics);
  const validating = createValidatingPolicyMeasures(metrics, conditions);
  const mutating = createMutatingPolicyMeasures(metrics, conditions);
  validating.checked('p', 'b', 'no_error', 'deny', 0.002);
  mutating.checked('p', 'b', 'invalid_error', 'deny', 0.002);
  validating.conditions.evaluated('p', 'CREATE', 0.001);
  validating.conditions.excluded('p', 'UPDATE');
  mutating.conditions.failed('p', 'DELETE');
  const text = await exposed(metrics);
  const lines = text.split('\n');
  for (const line of [
    'apiserver_validating_admission_policy_check_total{policy="p",policy_binding="b",error_type="no_error",enforcement_action="deny"} 1',
    'apiserver_validating_admission_policy_check_duration_seconds_bucket{le="0.01",policy="p",policy_binding="b",error_type="no_error",enforcement_action="deny"} 1',
    'apiserver_mutating_admission_policy_check_total{policy="p",policy_binding="b",error_type="invalid_error"} 1',
    'apiserver_mutating_admission_policy_check_duration_seconds_count{policy="p",policy_binding="b",error_type="invalid_error"} 1',
    'apiserver_admission_match_condition_evaluation_seconds_count{name="p",kind="policy",type="validate",operation="CREATE"} 1',
    'apiserver_admission_match_condition_exclusions_total{name="p",kind="policy",type="validate",operation="UPDATE"} 1',
    'apiserver_admission_match_condition_evaluation_errors_total{name="p",kind="policy",type="admit",operation="DELETE"} 1',
  ])
    expect(lines).toContain(line);
});

test('the number of series is bounded for policies under ever new names', async () => {
  const metrics = createMetrics({ ofProcess: false });
  const { checked } = createValidatingPolicyMeasures(metrics, createConditionMeasures(metrics));
  for (let at = 0; at < 1_500; at++) checked(`p${at}`, `p${at}`, 'no_error', 'deny', 0);
  const text = await exposed(metrics);
  const lines = text
    .split('\n')
    .filter((line) => line.startsWith('apiserver_validating_admission_policy_check_total{'));
  expect(lines).toHaveLength(1_001);
});
