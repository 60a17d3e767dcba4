import { type AdmissionPlugin, type Authorizer, paramRights } from '@cluster-apiserver/gates';
import { getCached, type Resource } from '@cluster-apiserver/registry';

/** Checks who writes policies with parameters; nothing where none are served. */
export function openParamRights(
  resources: readonly Resource[],
  views: readonly Resource[],
  authorizer: Authorizer,
): readonly AdmissionPlugin[] {
  const resourceNamed = (name: string): Resource | undefined => resources.find(({ kind }) => kind.kind === name);
  const policies = resourceNamed('ValidatingAdmissionPolicy');
  if (!policies) return [];
  return [
    paramRights({
      authorizer,
      resourceOf: (apiVersion, kind) =>
        [...resources, ...views].find(({ served }) => served.apiVersion === apiVersion && served.kind === kind)?.served
          .plural,
      policyNamed: (kind, name) => {
        const found = resourceNamed(kind);
        return found && getCached(found, undefined, name)?.object;
      },
      // One memory follows all kinds.
      refresh: async (call) => policies.collection.waitUntilFresh(undefined, call),
    }),
  ];
}
