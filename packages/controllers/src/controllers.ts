import { establishDefinitions } from './custom-resources/establish-definitions.ts';
import { collectGarbage } from './garbage-collector/garbage-collector.ts';
import { drainNamespaces } from './namespaces/namespace-controller.ts';
import { aggregateClusterRoles } from './rbac/aggregate-cluster-roles.ts';
import { countQuotas } from './quotas/count-quotas.ts';
import type { ControllerOptions } from './run-controller.ts';
import { checkPolicyTypes } from './validating-policies/check-policy-types.ts';

/** By their names in kube-controller-manager. Each runs until the signal of its term aborts. */
export const controllers: Readonly<Record<string, (term: ControllerOptions) => Promise<void>>> = {
  'garbage-collector': collectGarbage,
  'namespace-controller': drainNamespaces,
  'clusterrole-aggregation-controller': aggregateClusterRoles,
  'resourcequota-controller': countQuotas,
  'customresourcedefinition-controller': establishDefinitions,
  'validatingadmissionpolicy-status-controller': checkPolicyTypes,
};
