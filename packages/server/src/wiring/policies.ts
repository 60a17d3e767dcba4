import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { mutatingAdmissionPolicy, validatingAdmissionPolicy } from '@cluster-apiserver/policies';
import { asError } from '../as-error.ts';
import type { ConfiguredAdmission } from './admission.ts';
import { policiesOf } from './read-static-manifests.ts';
import { followStaticManifests } from './static-manifests.ts';

const plugins = {
  MutatingAdmissionPolicy: mutatingAdmissionPolicy,
  ValidatingAdmissionPolicy: validatingAdmissionPolicy,
};

/** The plugin of a kind of policies; undefined for a server that does not serve them. */
export async function openPolicies(
  policyKind: keyof typeof plugins,
  dependencies: ConfiguredAdmission,
): Promise<AdmissionPlugin | undefined> {
  const { resources, environment, clock, configuration, manifestMeasures, records, log, scope } = dependencies;
  const [policies, bindings] = [policyKind, `${policyKind}Binding`].map((name) =>
    resources.find(({ kind }) => kind.kind === name),
  );
  if (!policies || !bindings) return undefined;
  const directory = configuration[policyKind]?.staticManifestsDir;
  const plugin = plugins[policyKind]({
    policies,
    bindings,
    staticObjects:
      directory === undefined
        ? undefined
        : await followStaticManifests(
            {
              ...dependencies,
              directory,
              build: (manifests) => policiesOf(manifests, { policies, bindings }),
              resources: [policies, bindings],
              measures: manifestMeasures({ plugin: policyKind }),
              record: records.add({
                flag: 'admission-control-config-file',
                kind: `static manifests of ${policyKind}`,
                path: directory,
              }),
            },
            scope,
          ),
    environment,
    clock,
    failed: (error) =>
      log.error('compiling admission policies failed; trying again', { kind: policyKind, error: asError(error) }),
  });
  scope.onClose(policyKind, () => plugin.close());
  return plugin;
}
