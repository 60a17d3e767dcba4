import { admissionRegistration } from '@cluster-apiserver/kinds';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { createMutatingAdmissionPolicy, createValidatingAdmissionPolicy } from '@cluster-apiserver/policies';
import { asError } from '../as-error.ts';
import type { ConfiguredAdmission } from './configured-admission.ts';
import { createMutatingPolicyMeasures, createValidatingPolicyMeasures } from './admission-policy-measures.ts';
import { buildStaticPolicies } from './read-static-manifests.ts';
import { openStaticManifests } from './static-manifests.ts';

const plugins = {
  MutatingAdmissionPolicy: { openPlugin: createMutatingAdmissionPolicy, openMeasures: createMutatingPolicyMeasures },
  ValidatingAdmissionPolicy: {
    openPlugin: createValidatingAdmissionPolicy,
    openMeasures: createValidatingPolicyMeasures,
  },
};

/** The plugin for a kind of policies; undefined if the server does not serve them. */
export async function openPolicies(
  policyKind: keyof typeof plugins,
  dependencies: ConfiguredAdmission,
): Promise<AdmissionPlugin | undefined> {
  const { api, environment, metrics, conditionMeasures, clock, log, cleanup } = dependencies;
  const { openPlugin, openMeasures } = plugins[policyKind];
  const [policies, bindings] = [policyKind, `${policyKind}Binding`].map((name) =>
    api.current.byGroupKind(admissionRegistration.group, name),
  );
  if (!policies || !bindings) return undefined;
  const plugin = openPlugin({
    policies,
    bindings,
    staticObjects: await openStaticManifests(
      policyKind,
      [policies, bindings],
      (manifests) => buildStaticPolicies(manifests, { policies, bindings }),
      dependencies,
    ),
    environment,
    measures: openMeasures(metrics, conditionMeasures),
    clock,
    compileFailed: (error) =>
      log
        .withName('admission')
        .error('compiling admission policies failed; trying again', { kind: policyKind, error: asError(error) }),
  });
  cleanup.defer(policyKind, () => plugin.close());
  return plugin;
}
