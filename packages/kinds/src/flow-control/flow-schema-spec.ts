import { boolean, field, int32, list, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { publication } from './flow-control.ts';

const nameOf = (description: string) => field(1, string, description, 'always');

const subjectSchema = object(
  {
    kind: field(1, string, 'User, Group or ServiceAccount; the member of this name identifies the subject.', 'always'),
    user: field(
      2,
      object({ name: nameOf('Name of the user, or * for all.') }, publication('UserSubject', 'A user.', ['name'])),
      'A user by name.',
      'given',
    ),
    group: field(
      3,
      object({ name: nameOf('Name of the group, or * for all.') }, publication('GroupSubject', 'A group.', ['name'])),
      'All users of a group.',
      'given',
    ),
    serviceAccount: field(
      4,
      object(
        {
          namespace: field(1, string, 'Namespace of the service account.', 'always'),
          name: field(2, string, 'Name of the service account, or * for all of the namespace.', 'always'),
        },
        publication('ServiceAccountSubject', 'A service account.', ['namespace', 'name']),
      ),
      'A service account.',
      'given',
    ),
  },
  publication('Subject', 'Sender of a request: a user, a group or a service account.', ['kind']),
);

const resourceRuleSchema = object(
  {
    verbs: field(1, list(string, 'set'), 'Verbs, such as get; * matches all.', 'nullIfEmpty'),
    apiGroups: field(2, list(string, 'set'), 'API groups; * matches all.', 'nullIfEmpty'),
    resources: field(
      3,
      list(string, 'set'),
      'Resources by their plural names, with a subresource as in `nodes/status`; * matches all.',
      'nullIfEmpty',
    ),
    clusterScope: field(4, boolean, 'Whether requests without a namespace match.'),
    namespaces: field(
      5,
      list(string, 'set'),
      'Namespaces of the requests; * matches all, but not requests without one.',
      'nullIfEmpty',
    ),
  },
  publication('ResourcePolicyRule', 'Requests for resources: every member has to match.', [
    'verbs',
    'apiGroups',
    'resources',
    'namespaces',
  ]),
);

const pathRuleSchema = object(
  {
    verbs: field(1, list(string, 'set'), 'Verbs, such as get; * matches all.', 'nullIfEmpty'),
    nonResourceURLs: field(6, list(string, 'set'), 'Paths; a final `/*` matches all below.', 'nullIfEmpty'),
  },
  publication('NonResourcePolicyRule', 'Requests for paths that are no resources.', ['verbs', 'nonResourceURLs']),
);

const ruleSchema = object(
  {
    subjects: field(1, list(subjectSchema, 'atomic'), 'Senders of requests: one has to match.', 'nullIfEmpty'),
    resourceRules: field(2, list(resourceRuleSchema, 'atomic'), 'Requests for resources: one has to match.'),
    nonResourceRules: field(3, list(pathRuleSchema, 'atomic'), 'Requests for other paths: one has to match.'),
  },
  publication('PolicyRulesWithSubjects', 'Requests of some subjects: a subject and a rule have to match.', [
    'subjects',
  ]),
);

export const flowSchemaSpec = object(
  {
    priorityLevelConfiguration: field(
      1,
      object(
        { name: nameOf('Name of the priority level.') },
        publication('PriorityLevelConfigurationReference', 'Names a priority level.', ['name']),
      ),
      'The priority level of the requests. Without it the schema is ignored.',
      'always',
    ),
    matchingPrecedence: field(
      2,
      int32,
      'Of the schemas that match a request, the one with the smallest number counts, 1 to 10000. Defaults to 1000.',
      'always',
    ),
    distinguisherMethod: field(
      3,
      object(
        { type: field(1, string, 'ByUser or ByNamespace.', 'always') },
        publication('FlowDistinguisherMethod', 'Attribute by which requests are divided into flows.', ['type']),
      ),
      'Attribute by which the requests of the schema are divided into flows. Without it they are one flow.',
      'given',
    ),
    rules: field(4, list(ruleSchema, 'atomic'), 'Rules for requests: one has to match.'),
  },
  publication('FlowSchemaSpec', 'Requests that belong to a priority level, and their division into flows.', [
    'priorityLevelConfiguration',
  ]),
);

export type FlowSchemaSpec = ValueOf<typeof flowSchemaSpec>;
export type FlowRule = ValueOf<typeof ruleSchema>;
export type FlowSubject = ValueOf<typeof subjectSchema>;
export type ResourceRule = ValueOf<typeof resourceRuleSchema>;
export type PathRule = ValueOf<typeof pathRuleSchema>;
