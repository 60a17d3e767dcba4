import {
  mutatingAdmissionPolicy,
  policyEnvironment,
  type PolicyPlugin,
  validatingAdmissionPolicy,
} from '@cluster-apiserver/policies';
import { asError } from '../as-error.ts';
import type { AdmissionDependencies } from './admission.ts';

const plugins = {
  MutatingAdmissionPolicy: mutatingAdmissionPolicy,
  ValidatingAdmissionPolicy: validatingAdmissionPolicy,
};

/** The plugin of a kind of policies; undefined for a server that does not serve them. */
export function openPolicies(
  policyKind: keyof typeof plugins,
  dependencies: AdmissionDependencies,
): PolicyPlugin | undefined {
  const { resources, clock, log, scope } = dependencies;
  const [policies, bindings] = [policyKind, `${policyKind}Binding`].map((name) =>
    resources.find(({ kind }) => kind.kind === name),
  );
  if (!policies || !bindings) return undefined;
  const plugin = plugins[policyKind]({
    policies,
    bindings,
    clock,
    environment: policyEnvironment(dependencies),
    failed: (error) =>
      log.error('compiling admission policies failed; trying again', { kind: policyKind, error: asError(error) }),
  });
  scope.onClose(policyKind, () => plugin.close());
  return plugin;
}
