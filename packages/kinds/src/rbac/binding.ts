import type { Problems, RbacSubject, RoleRef } from '@cluster-apiserver/model';
import { ageColumn, type Column, nameColumn, type ObjectOf } from '@cluster-apiserver/model/kind';
import { field, list, object, publicationOf, string } from '@cluster-apiserver/model/schema';
import { pathSegment, subdomainNames } from '@cluster-apiserver/model/validation';
import { rbac } from './rbac.ts';

const subjectSchema = object(
  {
    kind: field(1, string, 'User, Group or ServiceAccount.', 'always'),
    apiGroup: field(
      2,
      string,
      'API group of the subject: rbac.authorization.k8s.io for users and groups, empty for service accounts. Filled in by the server if absent.',
    ),
    name: field(3, string, 'Name of the user, group or service account.', 'always'),
    namespace: field(
      4,
      string,
      "Namespace of a service account. A RoleBinding may leave it out and then means the binding's own namespace.",
    ),
  },
  {
    atomic: true,
    publication: publicationOf(
      { ...rbac, kind: 'Subject' },
      'A user, a group or a service account that a binding grants permissions to.',
      ['kind', 'name'],
    ),
  },
);

const roleRefSchema = object(
  {
    apiGroup: field(
      1,
      string,
      'API group of the role: rbac.authorization.k8s.io. Filled in by the server if absent.',
      'always',
    ),
    kind: field(2, string, 'Role or ClusterRole. A ClusterRoleBinding can refer to a ClusterRole only.', 'always'),
    name: field(3, string, 'Name of the role.', 'always'),
  },
  {
    atomic: true,
    publication: publicationOf({ ...rbac, kind: 'RoleRef' }, 'Names the role that a binding grants.', ['kind', 'name']),
  },
);

/** In the order of upstream's answers. */
const fields = {
  subjects: field(2, list(subjectSchema, 'atomic'), 'Users, groups and service accounts that the role is granted to.'),
  roleRef: field(
    3,
    roleRefSchema,
    'Role that is granted. It cannot be changed: delete the binding and create another one instead.',
    'always',
  ),
};

/** The fields of RoleBinding and ClusterRoleBinding. */
export type Binding = ObjectOf<typeof fields>;

/** Fills in the API groups. The namespace of a service account stays as it was sent: authorization completes it. */
function withApiGroups<T extends Binding>(binding: T): T {
  const { roleRef, subjects } = binding;
  return {
    ...binding,
    roleRef: roleRef.apiGroup === '' ? { ...roleRef, apiGroup: rbac.group } : roleRef,
    ...(subjects && { subjects: subjects.map(withApiGroup) }),
  };
}

const withApiGroup = (subject: RbacSubject): RbacSubject =>
  !subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group')
    ? { ...subject, apiGroup: rbac.group }
    : subject;

/** Which roles a binding may refer to, and where its subjects are. */
interface BindingRules {
  readonly roleKinds: readonly string[];
  readonly namespaced: boolean;
}

export const validateBinding =
  ({ roleKinds, namespaced }: BindingRules) =>
  ({ roleRef, subjects = [] }: Binding, current: Binding | undefined, problems: Problems): void => {
    const role = problems.at('roleRef');
    validateRole(roleRef, roleKinds, role);
    problems.at('subjects').each(subjects, (subject, at) => validateSubject(subject, namespaced, at));
    if (current && !isSameRole(roleRef, current.roleRef)) role.invalid(roleRef, 'cannot change roleRef');
  };

const isSameRole = (left: RoleRef, right: RoleRef): boolean =>
  left.apiGroup === right.apiGroup && left.kind === right.kind && left.name === right.name;

function validateRole({ apiGroup, kind, name }: RoleRef, roleKinds: readonly string[], problems: Problems): void {
  problems.at('apiGroup').oneOf(apiGroup, [rbac.group]);
  problems.at('kind').oneOf(kind, roleKinds);
  if (name === '') problems.at('name').required();
  else problems.at('name').check(pathSegment, name);
}

function validateSubject(
  { kind, apiGroup = '', name, namespace }: RbacSubject,
  namespaced: boolean,
  problems: Problems,
): void {
  if (name === '') problems.at('name').required();
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '') problems.at('name').check(subdomainNames.whole, name);
      problems.at('apiGroup').oneOf(apiGroup, ['']);
      if (!namespaced && !namespace) problems.at('namespace').required();
      return;
    case 'User':
    case 'Group':
      problems.at('apiGroup').oneOf(apiGroup, [rbac.group]);
      return;
    default:
      problems.at('kind').notSupported(kind, ['ServiceAccount', 'User', 'Group']);
  }
}

const subjectsColumn = (title: string, kind: string, what: string): Column<Binding> => ({
  name: title,
  description: `${what} that the role is granted to.`,
  priority: 1,
  value: ({ subjects = [] }) =>
    subjects
      .filter((subject) => subject.kind === kind)
      .map(({ name, namespace = '' }) => (kind === 'ServiceAccount' ? `${namespace}/${name}` : name))
      .join(', '),
});

const columns: readonly Column<Binding>[] = [
  nameColumn,
  {
    name: 'Role',
    description: 'Kind and name of the role that is granted.',
    value: ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`,
  },
  ageColumn,
  subjectsColumn('Users', 'User', 'Users'),
  subjectsColumn('Groups', 'Group', 'Groups'),
  subjectsColumn('ServiceAccounts', 'ServiceAccount', 'Service accounts'),
];

/** The shared part of both declarations. */
export const bindingKind = {
  fields,
  requiredFields: ['roleRef'],
  defaults: withApiGroups<Binding>,
  columns,
};
