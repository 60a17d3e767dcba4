import { describe, expect, test } from '@jest/globals';
import type { Kind } from '@cluster-apiserver/model/kind';
import { decode } from '@cluster-apiserver/model/schema';
import { errorTexts, problemsOf } from '../../test/problems-of.ts';
import { clusterRole } from './cluster-role.ts';
import { role } from './role.ts';

const errorsOf = (kind: Kind, fields: object): string[] =>
  errorTexts(
    problemsOf(
      kind,
      decode(kind.schema, { metadata: { name: 'x' }, ...fields }, () => {}),
    ),
    true,
  );
const ofRules = (kind: Kind, ...rules: object[]): string[] => errorsOf(kind, { rules });

const [get, core, events] = [{ verbs: ['get'] }, { apiGroups: [''] }, { resources: ['events'] }];
const noVerbs = 'rules[0].verbs Required Required value: verbs must contain at least one value';
const noGroups = 'rules[0].apiGroups Required Required value: resource rules must supply at least one api group';
const noResources = 'rules[0].resources Required Required value: resource rules must supply at least one resource';
const invalid = 'rules[0].nonResourceURLs Invalid Invalid value: ["/a"]: ';
const isNamespaced = `${invalid}namespaced rules cannot apply`;
const isMixed = `${invalid}rules cannot apply to both`;
const urls = { nonResourceURLs: ['/a'] };

/** A rule with what is wrong with it in a Role, and in a ClusterRole. */
test.each<[string, object, readonly string[], (readonly string[])?]>([
  ['for a resource', { ...get, ...core, ...events }, []],
  ['for everything', { verbs: ['*'], apiGroups: ['*'], resources: ['*'] }, []],
  ['for some names of several resources', { ...get, ...core, resources: ['a', 'b'], resourceNames: ['n', ''] }, []],
  [
    'with unknown verbs, groups and resources',
    { verbs: ['', 'dance'], apiGroups: ['no.such'], resources: ['*/x'] },
    [],
  ],
  ['that is empty', {}, [noVerbs, noGroups, noResources]],
  ['with empty lists', { verbs: [], apiGroups: [], resources: [] }, [noVerbs, noGroups, noResources]],
  ['with names alone', { ...get, resourceNames: ['a'] }, [noGroups, noResources]],
  ['without verbs', { ...core, ...events }, [noVerbs]],
  ['without groups', { ...get, ...events }, [noGroups]],
  ['without resources', { ...get, ...core }, [noResources]],
  ['for paths', { ...get, ...urls }, [isNamespaced], []],
  ['for paths without verbs', urls, [noVerbs, isNamespaced], [noVerbs]],
  ['for paths and groups', { ...get, ...urls, ...core }, [isNamespaced, isMixed], [isMixed]],
  ['for paths and resources', { ...get, ...urls, ...events }, [isNamespaced, isMixed], [isMixed]],
  ['for paths and names', { ...get, ...urls, resourceNames: ['a'] }, [isNamespaced, isMixed], [isMixed]],
])('a rule %s', (_, rule, inRole, inClusterRole = inRole) => {
  expect(ofRules(role, rule)).toEqual(inRole.map((error) => expect.stringContaining(error)));
  expect(ofRules(clusterRole, rule)).toEqual(inClusterRole.map((error) => expect.stringContaining(error)));
});

test('a path may have any form', () => {
  expect(ofRules(clusterRole, { ...get, nonResourceURLs: ['', 'healthz', '/a/*/b', '*'] })).toEqual([]);
});

test('errors of several rules are named by their place, and counted beyond a bound', () => {
  expect(ofRules(role, { ...get, ...core, ...events }, { ...get, ...core }, { ...core, ...events })).toEqual([
    noResources.replace('0', '1'),
    noVerbs.replace('0', '2'),
  ]);
  const rules = Array.from({ length: 1_000 }, () => ({}));
  const { errors, count } = problemsOf(role, { metadata: {}, rules });
  expect([errors.length, count]).toEqual([100, 3_000]);
});

test.each([role, clusterRole])('$kind without rules has rules null', (kind) => {
  for (const rules of [undefined, null, []]) expect(decode(kind.schema, { rules }, () => {})['rules']).toBeNull();
  expect(errorsOf(kind, {})).toEqual([]);
});

describe('an aggregation rule', () => {
  const path = 'aggregationRule.clusterRoleSelectors';
  test.each<[string, object, readonly string[]]>([
    ['is absent', {}, []],
    ['has a selector', { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] } }, []],
    ['has a selector of everything', { aggregationRule: { clusterRoleSelectors: [{}] } }, []],
    ['has no selectors', { aggregationRule: {} }, [path]],
    ['has an empty list of them', { aggregationRule: { clusterRoleSelectors: [] } }, [path]],
    [
      'has a label that cannot be, after one that can',
      { aggregationRule: { clusterRoleSelectors: [{}, { matchLabels: { 'a b': '!' } }] } },
      [`${path}[1].matchLabels`, `${path}[1].matchLabels`, `${path}[1]`],
    ],
    [
      'has an unknown operator, next to a wrong rule',
      {
        rules: [core],
        aggregationRule: { clusterRoleSelectors: [{ matchExpressions: [{ key: 'a', operator: '=' }] }] },
      },
      ['rules[0].verbs', 'rules[0].resources', `${path}[0].matchExpressions[0].operator`, `${path}[0]`],
    ],
  ])('that %s', (_, fields, wrong) => {
    expect(errorsOf(clusterRole, fields).map((error) => error.split(' ')[0])).toEqual(wrong);
  });
});

test.each([
  ['system:x', true],
  ['A b', true],
  ['x'.repeat(300), true],
  ['.', false],
  ['..', false],
  ['a/b', false],
  ['a%b', false],
])('%j may be a name, and the beginning of one: %s', (name, holds) => {
  for (const { names } of [role, clusterRole])
    expect([names.whole(name).length === 0, names.prefix(name).length === 0]).toEqual([holds, holds]);
});
