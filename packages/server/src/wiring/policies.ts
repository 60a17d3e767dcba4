import { namespace as namespaceKind } from '@cluster-apiserver/kinds';
import { asServed, asStored, type KubeObject, type ServedKind } from '@cluster-apiserver/model';
import {
  type FindParams,
  type PolicyPlugin,
  type ParamObjects,
  type Surroundings,
  mutatingAdmissionPolicy,
  validatingAdmissionPolicy,
} from '@cluster-apiserver/policies';
import { known, type Resource } from '@cluster-apiserver/registry';
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
  const { resources, views, clock, log, scope } = dependencies;
  const [policies, bindings] = [policyKind, `${policyKind}Binding`].map((name) =>
    resources.find(({ kind }) => kind.kind === name),
  );
  if (!policies || !bindings) return undefined;
  const plugin = plugins[policyKind]({
    policies,
    bindings,
    clock,
    surroundings: surroundingsOf(dependencies),
    findParams: paramsIn([...resources, ...views]),
    failed: (error) =>
      log.error('compiling admission policies failed; trying again', { kind: policyKind, error: asError(error) }),
  });
  scope.onClose(policyKind, () => plugin.close());
  return plugin;
}

function surroundingsOf({ resources, views, authorizer }: AdmissionDependencies): Surroundings {
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
