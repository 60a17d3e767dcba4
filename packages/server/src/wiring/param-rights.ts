import { type AdmissionPlugin, type Authorizer, createParamRights } from '@cluster-apiserver/gates';
import { getCached, type Resource } from '@cluster-apiserver/registry';

/** The plugin for policies with parameters; none if policies are not served. */
export function openParamRights(
  resources: readonly Resource[],
  views: readonly Resource[],
  authorizer: Authorizer,
): readonly AdmissionPlugin[] {
  const resourceNamed = (name: string): Resource | undefined => resources.find(({ kind }) => kind.kind === name);
  const policies = resourceNamed('ValidatingAdmissionPolicy');
  if (!policies) return [];
  return [
    createParamRights({
      authorizer,
      resourceOf: (apiVersion, kind) =>
        [...resources, ...views].find(({ served }) => served.apiVersion === apiVersion && served.kind === kind)?.served
          .plural,
      findPolicy: (kind, name) => {
        const found = resourceNamed(kind);
        return found && getCached(found, undefined, name)?.object;
      },
      // All kinds share one watch cache.
      refresh: async (call) => policies.collection.waitUntilFresh(undefined, call),
    }),
  ];
}
