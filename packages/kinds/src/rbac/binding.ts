import {
  ageColumn,
  type Column,
  type FieldError,
  field,
  FieldErrors,
  invalidValue,
  list,
  nameColumn,
  notSupported,
  object,
  pathSegment,
  publicationOf,
  type RbacSubject,
  required,
  type RoleRef,
  string,
  subdomainNames,
  type ObjectOf,
} from '@cluster-apiserver/model';
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

/** Errors of a binding that may refer to roles of these kinds. */
export function bindingErrors(
  { roleRef, subjects = [] }: Binding,
  current: Binding | undefined,
  { roleKinds, namespaced }: { readonly roleKinds: readonly string[]; readonly namespaced: boolean },
): FieldError[] {
  const errors = new FieldErrors();
  for (const error of roleRefErrors(roleRef, roleKinds)) errors.add(() => error);
  for (const [index, subject] of subjects.entries())
    addSubjectErrors(errors, `subjects[${index}]`, subject, namespaced);
  if (current && !isSameRole(roleRef, current.roleRef))
    errors.add(() => invalidValue('roleRef', roleRef, 'cannot change roleRef'));
  return errors.all;
}

const isSameRole = (left: RoleRef, right: RoleRef): boolean =>
  left.apiGroup === right.apiGroup && left.kind === right.kind && left.name === right.name;

const roleRefErrors = ({ apiGroup, kind, name }: RoleRef, roleKinds: readonly string[]): FieldError[] => [
  ...(apiGroup === rbac.group ? [] : [notSupported('roleRef.apiGroup', apiGroup, [rbac.group])]),
  ...(roleKinds.includes(kind) ? [] : [notSupported('roleRef.kind', kind, roleKinds)]),
  ...(name === ''
    ? [required('roleRef.name')]
    : pathSegment(name).map((problem) => invalidValue('roleRef.name', name, problem))),
];

function addSubjectErrors(
  errors: FieldErrors,
  at: string,
  { kind, apiGroup = '', name, namespace }: RbacSubject,
  namespaced: boolean,
): void {
  if (name === '') errors.add(() => required(`${at}.name`));
  const requireApiGroup = (group: string): void => {
    if (apiGroup !== group) errors.add(() => notSupported(`${at}.apiGroup`, apiGroup, [group]));
  };
  switch (kind) {
    case 'ServiceAccount':
      if (name !== '')
        errors.addAll(subdomainNames.whole(name), (problem) => invalidValue(`${at}.name`, name, problem));
      requireApiGroup('');
      if (!namespaced && !namespace) errors.add(() => required(`${at}.namespace`));
      return;
    case 'User':
    case 'Group':
      requireApiGroup(rbac.group);
      return;
    default:
      errors.add(() => notSupported(`${at}.kind`, kind, ['ServiceAccount', 'User', 'Group']));
  }
}

const subjectsColumn = (title: string, kind: string, what: string): Column<Binding> => ({
  name: title,
  description: `${what} that the role is granted to.`,
  wide: true,
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
