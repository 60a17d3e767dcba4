import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { mutatingAdmissionPolicy, validatingAdmissionPolicy } from '@cluster-apiserver/policies';
import { asError } from '../as-error.ts';
import type { ConfiguredAdmission } from './admission.ts';
import { mutatingPolicyMeasures, validatingPolicyMeasures } from './admission-policy-measures.ts';
import { policiesOf } from './read-static-manifests.ts';
import { openStaticManifests } from './static-manifests.ts';

const plugins = {
  MutatingAdmissionPolicy: { openPlugin: mutatingAdmissionPolicy, openMeasures: mutatingPolicyMeasures },
  ValidatingAdmissionPolicy: { openPlugin: validatingAdmissionPolicy, openMeasures: validatingPolicyMeasures },
};

/** The plugin of a kind of policies; undefined for a server that does not serve them. */
export async function openPolicies(
  policyKind: keyof typeof plugins,
  dependencies: ConfiguredAdmission,
): Promise<AdmissionPlugin | undefined> {
  const { resources, environment, metrics, conditionMeasures, clock, log, scope } = dependencies;
  const { openPlugin, openMeasures } = plugins[policyKind];
  const [policies, bindings] = [policyKind, `${policyKind}Binding`].map((name) =>
    resources.find(({ kind }) => kind.kind === name),
  );
  if (!policies || !bindings) return undefined;
  const plugin = openPlugin({
    policies,
    bindings,
    staticObjects: await openStaticManifests(
      policyKind,
      [policies, bindings],
      (manifests) => policiesOf(manifests, { policies, bindings }),
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
  scope.defer(policyKind, () => plugin.close());
  return plugin;
}
