import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import { namespace as namespaceKind } from '@cluster-apiserver/kinds';
import { asServed, asStored, type KubeObject, type ServedKind } from '@cluster-apiserver/model';
import {
  type FindParams,
  type ParamObjects,
  type StaticObjects,
  staticProblems,
  type Surroundings,
  mutatingAdmissionPolicy,
  validatingAdmissionPolicy,
} from '@cluster-apiserver/policies';
import { known, type Resource } from '@cluster-apiserver/registry';
import type { AdmissionDependencies, ConfiguredAdmission } from './admission.ts';
import { followStaticManifests, type StaticManifests } from './static-manifests.ts';

const plugins = {
  MutatingAdmissionPolicy: mutatingAdmissionPolicy,
  ValidatingAdmissionPolicy: validatingAdmissionPolicy,
};

/** The plugin of a kind of policies; undefined for a server that does not serve them. */
export async function openPolicies(
  policyKind: keyof typeof plugins,
  dependencies: ConfiguredAdmission,
): Promise<AdmissionPlugin | undefined> {
  const { resources, views, clock, configuration, manifestMeasures, scope } = dependencies;
  const [policies, bindings] = [policyKind, `${policyKind}Binding`].map((name) =>
    resources.find(({ kind }) => kind.kind === name),
  );
  if (!policies || !bindings) return undefined;
  const directory = configuration[policyKind]?.staticManifestsDir;
  const build = (manifests: StaticManifests): StaticObjects => {
    const objects = { policies: manifests.of(policies), bindings: manifests.of(bindings) };
    manifests.requireNoProblems(staticProblems(objects));
    return objects;
  };
  return plugins[policyKind]({
    policies,
    bindings,
    staticObjects:
      directory === undefined
        ? undefined
        : await followStaticManifests(
            {
              ...dependencies,
              directory,
              build,
              resources: [policies, bindings],
              measures: manifestMeasures({ plugin: policyKind }),
            },
            scope,
          ),
    clock,
    surroundings: surroundingsOf(dependencies),
    findParams: paramsIn([...resources, ...views]),
  });
}

/** What policies and webhooks have to know of the server. */
export function surroundingsOf({ resources, views, authorizer }: AdmissionDependencies): Surroundings {
  const namespaces = resources.find(({ kind }) => kind === namespaceKind);
  const all = [...resources, ...views];
  const resourceOf = (served: ServedKind): Resource | undefined => all.find((one) => one.served === served);
  return {
    // They have one collection in common.
    equivalentsOf: (served) => {
      const own = resourceOf(served);
      return all.flatMap((one) => (one !== own && one.collection === own?.collection ? [one.served] : []));
    },
    inFormOf: (served, object) => {
      const own = resourceOf(served);
      return own ? asServed(own.served, object) : object;
    },
    inStoredForm: (served, object) => {
      const own = resourceOf(served);
      return own ? asStored(own.served, object) : object;
    },
    namespace: (name) => namespaces && known(namespaces, undefined, name)?.object,
    authorize: (question, call) => authorizer.authorize(question, call),
  };
}

const paramsIn =
  (all: readonly Resource[]): FindParams =>
  ({ apiVersion, kind }) => {
    const found = all.find(({ served }) => served.apiVersion === apiVersion && served.kind === kind);
    return found && paramObjects(found);
  };

function paramObjects(resource: Resource): ParamObjects {
  const { served, collection, kind } = resource;
  const withNames = (object: KubeObject): KubeObject => asServed(served, object);
  return {
    namespaced: kind.namespaced,
    get: (namespace, name) => {
      const found = known(resource, namespace, name);
      return found && withNames(found.object);
    },
    select: (namespace, matches) => {
      const within = namespace === undefined ? '' : `${namespace}/`;
      const found: KubeObject[] = [];
      collection.view().items.visit(within, (item) => {
        if (!item.key.startsWith(within)) return false;
        if (!item.unreadable && matches(item.labels ?? {})) found.push(withNames(item.object));
        return true;
      });
      return found;
    },
  };
}
