/** Roles, subjects and questions, in few words. */
import type { AccessAttributes, RbacSubject, RoleRef, UserInfo } from '@cluster-apiserver/model';

export const ref = (kind: string, name: string): RoleRef => ({ apiGroup: 'rbac.authorization.k8s.io', kind, name });
export const user = (name: string): RbacSubject => ({ kind: 'User', name });
export const group = (name: string): RbacSubject => ({ kind: 'Group', name });
export const account = (name: string, namespace?: string): RbacSubject => ({
  kind: 'ServiceAccount',
  name,
  ...(namespace !== undefined && { namespace }),
});
export const who = (name: string, ...groups: string[]): UserInfo => ({ name, groups });

export const asks = (
  asker: UserInfo,
  namespace: string | undefined,
  more: Partial<NonNullable<AccessAttributes['resource']>> & { readonly verb?: string } = {},
): AccessAttributes => {
  const { verb = 'list', ...resource } = more;
  return {
    user: asker,
    verb,
    path: '',
    resource: {
      group: '',
      version: 'v1',
      resource: 'serviceaccounts',
      subresource: undefined,
      namespace,
      name: undefined,
      ...resource,
    },
  };
};
export const asksPath = (asker: UserInfo, path: string, verb = 'get'): AccessAttributes => ({
  user: asker,
  verb,
  path,
});
