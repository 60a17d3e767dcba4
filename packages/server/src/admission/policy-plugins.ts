import { asError, type CleanupStack, type Clock } from '@cluster-apiserver/base';
import { admissionRegistration } from '@cluster-apiserver/kinds';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import {
  createMutatingPolicyMeasures,
  createValidatingPolicyMeasures,
  type OpenConditionMeasures,
  createMutatingAdmissionPolicy,
  createValidatingAdmissionPolicy,
  type ClusterState,
} from '@cluster-apiserver/policies';
import type { LiveApi } from '@cluster-apiserver/registry';
import type { Log, Metrics } from '@cluster-apiserver/telemetry';
import { requireStaticPolicies } from './read-static-manifests.ts';
import type { OpenManifests } from './static-manifests.ts';

const plugins = {
  MutatingAdmissionPolicy: { openPlugin: createMutatingAdmissionPolicy, createMeasures: createMutatingPolicyMeasures },
  ValidatingAdmissionPolicy: {
    openPlugin: createValidatingAdmissionPolicy,
    createMeasures: createValidatingPolicyMeasures,
  },
};

export interface PolicyDependencies {
  readonly api: LiveApi;
  readonly clusterState: ClusterState;
  readonly openManifests: OpenManifests;
  readonly conditionMeasures: OpenConditionMeasures;
  readonly metrics: Metrics;
  readonly clock: Clock;
  readonly log: Log;
}

/** The plugin for a kind of policies; undefined if the server does not serve them. */
export async function openPolicyPlugin(
  policyKind: keyof typeof plugins,
  { api, clusterState, openManifests, conditionMeasures, metrics, clock, log }: PolicyDependencies,
  cleanup: CleanupStack,
): Promise<AdmissionPlugin | undefined> {
  const { openPlugin, createMeasures } = plugins[policyKind];
  const [policies, bindings] = [policyKind, `${policyKind}Binding`].map((name) =>
    api.byGroupKind(admissionRegistration.group, name),
  );
  if (!policies || !bindings) return undefined;
  const plugin = openPlugin({
    policies,
    bindings,
    staticObjects: await openManifests(policyKind, [policies, bindings], (manifests) =>
      requireStaticPolicies(manifests, { policies, bindings }),
    ),
    cluster: clusterState,
    measures: createMeasures(metrics, conditionMeasures),
    clock,
    compileFailed: (error) =>
      log.withName('admission').error(
        // Meaning: Policies and bindings changed, and the change is not in force. The replica tries again after a
        // pause.
        'compiling admission policies failed; trying again',
        'report the error as a bug if it repeats; requests are decided by the policies before',
        { kind: policyKind, error: asError(error) },
      ),
  });
  cleanup.defer(policyKind, () => plugin.close());
  return plugin;
}
