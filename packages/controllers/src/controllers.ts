import { cleanRequests } from './certificates/clean-requests.ts';
import { signRequests } from './certificates/sign-requests.ts';
import { cleanUpDefinitions } from './custom-resources/clean-up-definitions.ts';
import { establishDefinitions } from './custom-resources/establish-definitions.ts';
import { keepFlowControl } from './flow-control/keep-flow-control.ts';
import { collectGarbage } from './garbage-collector/garbage-collector.ts';
import { drainNamespaces } from './namespaces/namespace-controller.ts';
import { aggregateClusterRoles } from './rbac/aggregate-cluster-roles.ts';
import { countQuotas } from './quotas/count-quotas.ts';
import type { ControllerOptions, ControllerServices } from './run-controller.ts';
import { cleanTokens } from './service-accounts/clean-tokens.ts';
import { keepDefaultAccounts } from './service-accounts/default-accounts.ts';
import { keepTokenTracking } from './service-accounts/token-tracking.ts';
import { fillTokenSecrets } from './service-accounts/token-secrets.ts';
import { publishRootCertificates } from './service-accounts/root-certificates.ts';
import { checkPolicyTypes } from './validating-policies/check-policy-types.ts';

/** By their names in Kubernetes. Each runs until the signal of its term aborts. */
export const controllers: Readonly<Record<string, (term: ControllerOptions & ControllerServices) => Promise<void>>> = {
  'garbage-collector': collectGarbage,
  'namespace-controller': drainNamespaces,
  'clusterrole-aggregation-controller': aggregateClusterRoles,
  'resourcequota-controller': countQuotas,
  'customresourcedefinition-controller': establishDefinitions,
  'customresourcedefinition-finalizer-controller': cleanUpDefinitions,
  'serviceaccount-token-controller': fillTokenSecrets,
  'legacy-token-tracking-controller': keepTokenTracking,
  'legacy-serviceaccount-token-cleaner-controller': cleanTokens,
  'serviceaccount-controller': keepDefaultAccounts,
  'root-ca-certificate-publisher-controller': publishRootCertificates,
  'certificatesigningrequest-signing-controller': signRequests,
  'certificatesigningrequest-cleaner-controller': cleanRequests,
  'validatingadmissionpolicy-status-controller': checkPolicyTypes,
  'priority-and-fairness-config-producer': keepFlowControl,
};
