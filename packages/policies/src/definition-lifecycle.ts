import type { Call } from '@cluster-apiserver/base';
import type { AdmissionContext, AdmissionPlugin, Precondition } from '@cluster-apiserver/gates';
import { forbiddenResource, notFound } from '@cluster-apiserver/model';
import { getCached, type LiveApi, type Resource } from '@cluster-apiserver/registry';

/**
 * A new custom object needs its definition, and one that is not being deleted. It cannot be disabled: an object that a
 * replica created because it did not know of the deletion yet would stay, and come back with the next definition of the name.
 */
export const createDefinitionLifecycle = (api: LiveApi): AdmissionPlugin => ({
  name: 'CustomResourceDefinitionLifecycle',
  validate: (context) => {
    const { operation, resource, subresource, call } = context;
    if (operation !== 'CREATE' || subresource !== undefined || !resource.isCustom) return undefined;
    const known = findActive(api, context);
    if (known) return known;
    const definitions = definitionsOf(api);
    // The watch cache may be stale: reject only after it has caught up.
    const fresh = definitions ? refresh(definitions, call) : Promise.resolve();
    return fresh.then(() => {
      const now = findActive(api, context);
      if (now) return now;
      throw findDefinition(api, context)
        ? forbiddenResource(
            resource,
            context.name,
            'create not allowed while custom resource definition is terminating',
          )
        : notFound(resource, context.name ?? '');
    });
  },
});

const refresh = async ({ collection }: Resource, call: Call): Promise<void> =>
  collection.waitUntilFresh(undefined, call);

const definitionsOf = (api: LiveApi) => api.byGroupKind('apiextensions.k8s.io', 'CustomResourceDefinition');

function findDefinition(api: LiveApi, { resource }: AdmissionContext) {
  const definitions = definitionsOf(api);
  const name = `${resource.plural}.${resource.group}`;
  const found = definitions && getCached(definitions, undefined, name);
  return (
    found && {
      isTerminating: found.lifecycle?.deletionTimestamp !== undefined,
      precondition: {
        key: definitions.collection.descriptor.prefix + name,
        revision: found.revision,
        whole: {
          feed: definitions.collection.feed,
          uid: found.uid,
          refresh: (call: Call) => refresh(definitions, call),
        },
      },
    }
  );
}

/** The precondition of a creation: the definition as it is now. */
function findActive(api: LiveApi, context: AdmissionContext): Precondition | undefined {
  const found = findDefinition(api, context);
  return found && !found.isTerminating ? found.precondition : undefined;
}
