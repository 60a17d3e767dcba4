import { describe, expect, test } from '@jest/globals';
import { type AuditPolicy, ConfigurationError, loadAuditPolicy } from './index.ts';

const file = (part: object): string => JSON.stringify({ apiVersion: 'audit.k8s.io/v1', kind: 'Policy', ...part });
const load = (part: object): AuditPolicy => loadAuditPolicy(file(part));

function problemsOf(text: string): readonly string[] {
  try {
    loadAuditPolicy(text);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults;
    throw error;
  }
}

describe('An audit policy', () => {
  test('is read from the YAML of kube-apiserver', () => {
    const policy = loadAuditPolicy(`
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
omitManagedFields: true
rules:
  - level: RequestResponse
    users: [ann]
    userGroups: [system:masters]
    verbs: [create]
    resources:
      - group: ""
        resources: [serviceaccounts/token, "*/status"]
        resourceNames: [robot]
      - group: rbac.authorization.k8s.io
    namespaces: [kube-system, ""]
    omitStages: [Panic]
    omitManagedFields: false
  - level: None
    nonResourceURLs: ["/healthz*", /version, "*"]
`);
    expect(policy.rules).toEqual([
      {
        level: 'RequestResponse',
        users: new Set(['ann']),
        userGroups: new Set(['system:masters']),
        verbs: new Set(['create']),
        namespaces: new Set(['kube-system', '']),
        resources: [
          {
            group: '',
            resources: ['serviceaccounts/token', '*/status'],
            resourceNames: new Set(['robot']),
          },
          { group: 'rbac.authorization.k8s.io' },
        ],
        omitStages: new Set(['RequestReceived', 'Panic']),
        omitManagedFields: false,
      },
      {
        level: 'None',
        nonResourceURLs: ['/healthz*', '/version', '*'],
        omitStages: new Set(['RequestReceived']),
        omitManagedFields: true,
      },
    ]);
  });

  test('may have empty lists as conditions, which match every request', () => {
    const [rule] = load({ rules: [{ level: 'Metadata', users: [], resources: [], nonResourceURLs: null }] }).rules;
    expect(rule).toEqual({ level: 'Metadata', omitStages: new Set(), omitManagedFields: false });
  });

  test('may have metadata, which is ignored', () => {
    expect(load({ metadata: { name: 'a' }, rules: [{ level: 'None' }] }).rules).toHaveLength(1);
  });

  test('is rejected with all problems at once, each with its path', () => {
    expect(
      problemsOf(
        file({
          omitStages: ['Sent', null],
          omitManagedFields: 'yes',
          rules: [
            {},
            { level: 'All', verb: ['get'] },
            { level: 3 },
            { level: 'None', nonResourceURLs: ['healthz', '/a*b'], namespaces: ['a'] },
            { level: 'None', resources: [{ group: 'rbac/v1', resourceNames: ['a'] }], omitStages: ['None'] },
            { level: 'None', users: [null, 3] },
          ],
        }),
      ),
    ).toEqual([
      'rules[0].level: Required value',
      'rules[1]: unknown field "verb"',
      'rules[1].level: Unsupported value: "All": supported values: "None", "Metadata", "Request", "RequestResponse"',
      'rules[2].level: expected a string, got a number',
      `rules[3].nonResourceURLs[0]: Invalid value: "healthz": non-resource URL rules must begin with a '/' character`,
      `rules[3].nonResourceURLs[1]: Invalid value: "/a*b": non-resource URL wildcards '*' must be the final character of the rule`,
      expect.stringMatching(/^rules\[4\]\.resources\[0\]\.group: Invalid value: "rbac\/v1": /),
      'rules[4].omitStages[0]: Unsupported value: "None": supported values: "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"',
      'rules[5].users[0]: expected a string, got null',
      'rules[5].users[1]: expected a string, got a number',
      'omitStages[0]: Unsupported value: "Sent": supported values: "RequestReceived", "ResponseStarted", "ResponseComplete", "Panic"',
      'omitStages[1]: expected a string, got null',
      'omitManagedFields: expected true or false, got a string',
      'rules[3].nonResourceURLs: Invalid value: ["healthz","/a*b"]: rules cannot apply to both regular resources and non-resource URLs',
      'rules[4].resources[0].resourceNames: Invalid value: ["a"]: using resourceNames requires at least one resource',
    ]);
  });

  test.each([
    ['no rules', file({}), 'rules: Required value: a policy without rules would record nothing'],
    [
      'too many rules',
      file({ rules: Array.from({ length: 1001 }, () => ({ level: 'None' })) }),
      'rules: Too many: 1001: must have at most 1000 items',
    ],
    [
      'another version',
      file({ apiVersion: 'audit.k8s.io/v1beta1', rules: [{ level: 'None' }] }),
      'apiVersion: expected audit.k8s.io/v1',
    ],
    ['nothing in it', '', 'the file is empty'],
  ])('with %s is rejected', (_, text, problem) => {
    expect(problemsOf(text)).toEqual([problem]);
  });
});
