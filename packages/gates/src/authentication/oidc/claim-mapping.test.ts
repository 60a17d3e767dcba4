import { expect, test } from '@jest/globals';
import { usedHeapBytes } from '@cluster-apiserver/testkit/garbage';
import { compile, type Expression, types } from '@cluster-apiserver/expressions';
import type { ClaimMappings } from '@cluster-apiserver/config';
import { type Arbitrary, assert, boolean, constant, constantFrom, oneof, property, record } from 'fast-check';
import { toClaimValues, mapClaims } from './claim-mapping.ts';
import { TokenRejectedError } from '../token-rejected-error.ts';

const claimSetsCount = 2_000;

type Claims = Readonly<Record<string, unknown>>;
const strange = ['', 'a', 'b', ['a'], ['a', '', 'b'], [], null, 1, true, {}, [1], ['a', null], undefined];
const anyName = constantFrom('sub', 'email', 'groups', 'constructor', '__proto__');
const anyClaim = oneof(
  { weight: 2, arbitrary: constantFrom<unknown>('a', 'b') },
  { weight: 1, arbitrary: constantFrom(...strange) },
);
const anyClaims = record({
  sub: anyClaim,
  email: anyClaim,
  groups: anyClaim,
  constructor: anyClaim,
  ['__proto__']: anyClaim,
  email_verified: constantFrom(undefined, true, false, 'true'),
}).map((claims) => JSON.parse(JSON.stringify(claims)) as Claims);

const anyChoice = record({
  username: anyName,
  groups: oneof(anyName, constant(undefined)),
  uid: oneof(anyName, constant(undefined)),
  extra: anyName,
  usernamePrefix: constantFrom('', 'u:'),
  groupsPrefix: constantFrom('', 'g:'),
  byExpression: boolean(),
});
type Choice = typeof anyChoice extends Arbitrary<infer T> ? T : never;

function expression(text: string): Expression {
  const compiled = compile(text, { claims: types.map(types.string, types.dyn) });
  if ('faults' in compiled) throw new Error(compiled.faults.join('\n'));
  return compiled.expression;
}

/** The same mapping twice: as the configuration has it, and as somebody else would have written it down. */
function mapping({ username, groups, uid, extra, usernamePrefix, groupsPrefix, byExpression }: Choice): {
  readonly mappings: ClaimMappings;
  readonly model: (claims: Claims) => unknown;
} {
  const from = (claim: string, prefix: string) =>
    byExpression
      ? ({ from: 'expression', expression: expression(`claims[?'${claim}'].orValue(null)`) } as const)
      : ({ from: 'claim', claim, prefix } as const);
  const mappings: ClaimMappings = {
    username: from(username, usernamePrefix),
    groups: groups === undefined ? undefined : from(groups, groupsPrefix),
    uid: uid === undefined ? undefined : from(uid, ''),
    extra: [{ key: 'example.com/x', expression: expression(`claims[?'${extra}'].orValue('')`) }],
  };
  const model = (claims: Claims): unknown => {
    const has = (name: string): boolean => Object.getOwnPropertyNames(claims).includes(name);
    const claim = (name: string): unknown => (has(name) ? Object.getOwnPropertyDescriptor(claims, name)?.value : null);
    const listed = (value: unknown): string[] | undefined => {
      const list: unknown[] = value === null ? [] : Array.isArray(value) ? value : [value];
      return list.every((entry) => typeof entry === 'string') ? list.filter((entry) => entry !== '') : undefined;
    };
    const name = claim(username);
    const unverified = username === 'email' && has('email_verified') && claims.email_verified !== true;
    if (typeof name !== 'string' || name === '' || (unverified && !byExpression)) return 'rejected';
    const id = uid === undefined ? '' : claim(uid);
    const members = groups === undefined ? [] : listed(claim(groups));
    const more = listed(claim(extra));
    if (typeof id !== 'string' || !members || !more) return 'rejected';
    const prefixed = (prefix: string, text: string): string => (byExpression ? text : `${prefix}${text}`);
    return {
      name: prefixed(usernamePrefix, name),
      ...(id === '' ? {} : { uid: id }),
      groups: members.map((group) => prefixed(groupsPrefix, group)),
      ...(more.length === 0 ? {} : { extra: { 'example.com/x': more } }),
    };
  };
  return { mappings, model };
}

test(`${claimSetsCount} generated sets of claims become the configured users, or are rejected`, () => {
  let rejected = 0;
  assert(
    property(anyChoice, anyClaims, (choice, claims) => {
      const { mappings, model } = mapping(choice);
      let user: unknown;
      try {
        user = mapClaims(mappings, claims, toClaimValues(claims));
      } catch (error) {
        if (!(error instanceof TokenRejectedError)) throw error;
        user = 'rejected';
        rejected++;
      }
      expect({ claims, user }).toEqual({ claims, user: model(claims) });
    }),
    { numRuns: claimSetsCount, seed: 6 },
  );
  // Neither side of the rules is left out by chance.
  expect(rejected).toBeGreaterThan(claimSetsCount / 10);
  expect(rejected).toBeLessThan(claimSetsCount / 1.5);
});

test('users do not hold the claims that expressions cut them out of', () => {
  const cut = (from: number) =>
    ({ from: 'expression', expression: expression(`claims.text.substring(${from}, ${from + 20})`) }) as const;
  const mappings = { username: cut(0), groups: cut(30), uid: cut(60), extra: [{ key: 'a/b', ...cut(90) }] };
  const textCharacters = 60_000;
  const before = usedHeapBytes();
  const users = Array.from({ length: 300 }, (_, at) => {
    const claims = { text: Buffer.from(`${at}`.padEnd(textCharacters, 'x')).toString() };
    return mapClaims(mappings, claims, toClaimValues(claims));
  });
  expect(usedHeapBytes() - before).toBeLessThan(100 * textCharacters);
  expect(users[7]?.name).toBe(`7${'x'.repeat(19)}`);
});
