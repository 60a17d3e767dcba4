import { describe, expect, test } from '@jest/globals';
import { runSync } from '@cluster-apiserver/base';
import { kinds, type ValidatingAdmissionPolicy } from '@cluster-apiserver/kinds';
import { checkTypes } from './type-check.ts';

const served = kinds({ eventLifetimeSeconds: 3_600 }).flatMap(({ versions }) => versions);
const rule = (changes: object = {}): object => ({
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['*'],
  resources: ['serviceaccounts'],
  ...changes,
});
const warningsOf = (spec: object): readonly string[] => {
  const policy = {
    metadata: { name: 'p' },
    spec: { matchConstraints: { resourceRules: [rule()] }, ...spec },
    status: {},
  };
  return runSync(checkTypes(policy as ValidatingAdmissionPolicy, served)).map(
    ({ fieldRef, warning }) => `${fieldRef}: ${warning}`,
  );
};
const kindsWarned = (resourceRules: object[]): string[] => {
  const [warning = ''] = warningsOf({
    matchConstraints: { resourceRules },
    validations: [{ expression: 'object.no' }],
  });
  return Array.from(warning.matchAll(/(\S*), Kind=(\w+): ERROR/g), ([, version, kind]) => `${version} ${kind}`);
};

describe('the types of expressions', () => {
  test.each<[string, object, readonly string[]]>([
    ['that are right give no warning', { validations: [{ expression: 'has(object.secrets)' }] }, []],
    [
      'that name an unknown field give one',
      { validations: [{ expression: 'true' }, { expression: 'object.nothing == 1' }] },
      [
        "spec.validations[1].expression: /v1, Kind=ServiceAccount: ERROR: <input>:1:7: undefined field 'nothing'\n | object.nothing == 1\n | ......^\n",
      ],
    ],
    [
      'of messages are checked, too',
      { validations: [{ expression: 'true', messageExpression: 'string(oldObject.nothing)' }] },
      [
        "spec.validations[0].messageExpression: /v1, Kind=ServiceAccount: ERROR: <input>:1:17: undefined field 'nothing'\n | string(oldObject.nothing)\n | ................^\n",
      ],
    ],
    [
      'follow variables',
      {
        variables: [{ name: 'names', expression: 'object.secrets.map(s, s.name)' }],
        validations: [{ expression: 'variables.names == 1' }],
      },
      [expect.stringContaining('found no matching overload') as unknown as string],
    ],
    [
      'of parameters are those of their kind',
      { paramKind: { apiVersion: 'v1', kind: 'Namespace' }, validations: [{ expression: 'params.spec.no == 1' }] },
      [expect.stringContaining("undefined field 'no'") as unknown as string],
    ],
    [
      'of parameters of an unknown kind are not known',
      { paramKind: { apiVersion: 'e.com/v1', kind: 'X' }, validations: [{ expression: 'params.spec.no == 1' }] },
      [],
    ],
  ])('%s', (_, spec, expected) => {
    expect(warningsOf(spec)).toEqual(expected);
  });

  test.each<[string, object[], string[]]>([
    [
      'each kind that a rule names',
      [rule({ resources: ['namespaces', 'serviceaccounts'] })],
      ['/v1 Namespace', '/v1 ServiceAccount'],
    ],
    [
      'in the order of group, version and kind',
      [rule({ apiGroups: ['events.k8s.io', ''], resources: ['events'] })],
      ['/v1 Event', 'events.k8s.io/v1 Event'],
    ],
    ['nothing for all groups', [rule({ apiGroups: ['*'] })], []],
    ['nothing for all versions', [rule({ apiVersions: ['*'] })], []],
    ['nothing for all resources', [rule({ resources: ['*'] })], []],
    ['nothing for a subresource', [rule({ resources: ['namespaces/status'] })], []],
    ['nothing for what is not served', [rule({ resources: ['pods'] })], []],
    ['the rules that are known', [rule({ apiGroups: ['*'] }), rule()], ['/v1 ServiceAccount']],
  ])('are checked for %s', (_, rules, expected) => {
    expect(kindsWarned(rules)).toEqual(expected);
  });

  test('give warnings of a size that can be stored with the policy', () => {
    const many = Array.from({ length: 300 }, () => ({ expression: `object.nothing == '${'x'.repeat(20_000)}'` }));
    const warnings = warningsOf({ validations: many });
    expect(warnings).toHaveLength(100);
    expect(Math.max(...warnings.map(({ length }) => length))).toBeLessThan(2_200);
  });
});
