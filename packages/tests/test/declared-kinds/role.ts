import { defineKind } from '@cluster-apiserver/model/kind';
import { field, list, object, publicationOf, string } from '@cluster-apiserver/model/schema';

const group = { group: 'permissions.example.com', version: 'v1' };

const rule = object(
  {
    verbs: field(1, list(string, 'atomic'), 'Verbs that are granted.', 'always'),
    resources: field(2, list(string, 'atomic'), 'Resources that they are granted on.'),
  },
  { publication: publicationOf({ ...group, kind: 'Rule' }, 'Grants verbs on resources.', ['verbs']) },
);

const fields = {
  rules: field(2, list(rule, 'atomic'), 'Permissions of the role.', 'nullIfEmpty'),
  title: field(3, string, 'A title for people.'),
};

const titleBytesMax = 100;

export const role = defineKind({
  ...group,
  kind: 'Role',
  plural: 'roles',
  singular: 'role',
  description: 'A set of permissions.',
  fields,
  validate: ({ rules, title = '' }, _, problems) => {
    problems.at('rules').each(rules ?? [], ({ verbs }, at) => {
      if (verbs.length === 0) at.at('verbs').required();
    });
    if (Buffer.byteLength(title) > titleBytesMax) problems.at('title').tooLong(titleBytesMax);
  },
});
