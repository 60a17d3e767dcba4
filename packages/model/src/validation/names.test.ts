import { expect, test } from '@jest/globals';
import {
  dnsLabel,
  dnsSubdomain,
  labelValueRule,
  type NameRule,
  pathSegment,
  pathSegmentNames,
  qualifiedName,
  subdomainNames,
} from './names.ts';

const rules = {
  dnsLabel,
  dnsSubdomain,
  pathSegment,
  qualifiedName,
  labelValue: labelValueRule,
  subdomainPrefix: subdomainNames.prefix,
  pathPrefix: pathSegmentNames.prefix,
} satisfies Record<string, NameRule>;

test.each<[keyof typeof rules, string, boolean]>([
  ['dnsLabel', 'a', true],
  ['dnsLabel', 'a-1', true],
  ['dnsLabel', 'a.b', false],
  ['dnsLabel', '-a', false],
  ['dnsLabel', 'a'.repeat(63), true],
  ['dnsLabel', 'a'.repeat(64), false],
  ['dnsSubdomain', 'robot.v1.example', true],
  ['dnsSubdomain', 'a..b', false],
  ['dnsSubdomain', 'A', false],
  ['dnsSubdomain', 'a_b', false],
  ['dnsSubdomain', '', false],
  ['dnsSubdomain', 'a'.repeat(253), true],
  ['dnsSubdomain', 'a'.repeat(254), false],
  ['dnsSubdomain', 'a\n', false],
  ['pathSegment', 'Any thing_goes:ü', true],
  ['pathSegment', '.', false],
  ['pathSegment', '..', false],
  ['pathSegment', '...', true],
  ['pathSegment', 'a/b', false],
  ['pathSegment', 'a%b', false],
  ['qualifiedName', 'a', true],
  ['qualifiedName', 'example.com/a_B.c', true],
  ['qualifiedName', '/a', false],
  ['qualifiedName', 'a/', false],
  ['qualifiedName', 'a/b/c', false],
  ['qualifiedName', 'UPPER.example/a', false],
  ['qualifiedName', '__proto__', false],
  ['qualifiedName', 'a'.repeat(64), false],
  ['labelValue', '', true],
  ['labelValue', 'a b', false],
  ['labelValue', 'a'.repeat(63), true],
  ['labelValue', 'ü', false],
  ['subdomainPrefix', 'robot-', true],
  ['subdomainPrefix', 'robot_-', true],
  ['subdomainPrefix', 'robot_a-', false],
  ['subdomainPrefix', '-', false],
  ['subdomainPrefix', 'robot.', false],
  ['subdomainPrefix', 'Robot-', false],
  ['pathPrefix', '..', true],
  ['pathPrefix', 'a/', false],
])('%s: %j is accepted: %s', (rule, name, taken) => {
  expect(rules[rule](name).length === 0).toBe(taken);
});

test.each<[keyof typeof rules, string, string]>([
  ['dnsLabel', 'a.b', 'must not contain dots'],
  ['dnsLabel', 'A.b', 'a lowercase RFC 1123 label must consist of'],
  ['dnsLabel', `a.${'b'.repeat(63)}`, 'must be no more than 63 characters, must not contain dots'],
  ['qualifiedName', 'a/b/c', 'a valid label key must consist of'],
])('%s: %j is refused because it %s', (rule, name, why) => {
  expect(rules[rule](name).join(', ')).toContain(why);
});

test('a long name that fails at its end is rejected in time', () => {
  expect(dnsSubdomain(`${'a'.repeat(100_000)}!`).length).toBeGreaterThan(0);
  expect(qualifiedName('a-'.repeat(50_000)).length).toBeGreaterThan(0);
});

test('a long subdomain is judged like a short one', () => {
  const long = Array.from({ length: 4 }, () => 'a'.repeat(50)).join('.');
  const characters = ['a', '0', '-', '.', 'A', '_', '\n', 'é'];
  for (const one of characters)
    for (const two of characters)
      for (const three of characters)
        for (const name of [one, one + two, one + two + three])
          expect([name, dnsSubdomain(`${long}.${name}`).length]).toEqual([name, dnsSubdomain(`a.${name}`).length]);
});
