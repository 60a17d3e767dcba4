import { admissionRegistration } from '@cluster-apiserver/kinds';
import { type AdmissionPlugin, type Authorizer, createParamRights } from '@cluster-apiserver/gates';
import { getCached, type LiveApi, type Resource } from '@cluster-apiserver/registry';

/** The plugin for policies with parameters; none if policies are not served. */
export function createParamRightsPlugins(api: LiveApi, authorizer: Authorizer): readonly AdmissionPlugin[] {
  const find = (name: string): Resource | undefined => api.byGroupKind(admissionRegistration.group, name);
  const policies = find('ValidatingAdmissionPolicy');
  if (!policies) return [];
  return [
    createParamRights({
      authorizer,
      resourceOf: (apiVersion, kind) => api.byKind(apiVersion, kind)?.served.plural,
      findPolicy: (kind, name) => {
        const found = find(kind);
        return found && getCached(found, undefined, name)?.object;
      },
      // All kinds share one watch cache.
      refresh: async (call) => policies.collection.waitUntilFresh(undefined, call),
    }),
  ];
}
