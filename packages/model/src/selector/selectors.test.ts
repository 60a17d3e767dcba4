import { describe, expect, test } from '@jest/globals';
import { defineKind } from '../kind/kind.ts';
import { jsonField, string as stringSchema } from '../schema/schema.ts';
import { pathSegmentNames } from '../validation/names.ts';
import { fieldMatcher, parseFieldSelector } from './field-selector.ts';
import { labelMatcher, parseLabelSelector } from './label-selector.ts';
import { SelectorSyntaxError } from './selector-error.ts';

const labels = { app: 'web', tier: 'front', n: '7', empty: '' };

describe('labels', () => {
  test.each([
    ['', true],
    ['app', true],
    ['!app', false],
    ['nope', false],
    ['!nope', true],
    ['app=web', true],
    ['app==web', true],
    ['app = db', false],
    ['app!=db', true],
    ['nope!=x', true],
    ['app in (web, db)', true],
    ['app notin (web,db)', false],
    ['nope notin (web)', true],
    ['empty in ()', true],
    ['empty=', true],
    ['app=web,tier=front', true],
    ['app=web,tier=back', false],
    ['n>6', true],
    ['n<7', false],
    ['app>1', false],
    ['constructor', false],
    ['example.com/x', false],
  ])('%j selects: %s', (selector, selects) => {
    expect(labelMatcher(parseLabelSelector(selector))(labels)).toBe(selects);
  });

  test('many requirements are evaluated like few, and each counts', () => {
    const others = Array.from({ length: 20 }, (_, i) => `!other${i}`).join(',');
    for (const [selector, selects] of [
      ['app=web', true],
      ['app=web,app=db', false],
      ['app in (web,db),app in (web)', true],
      ['app!=a,app!=b', true],
      ['app!=a,app!=web', false],
      ['n>6,n>2,n<9,n<8', true],
      ['n>6,n<7', false],
      ['app>1', false],
      ['nope', false],
      ['app,!app', false],
      ['constructor', false],
      ['!toString', true],
    ] as const) {
      expect([selector, labelMatcher(parseLabelSelector(selector))(labels)]).toEqual([selector, selects]);
      expect([selector, labelMatcher(parseLabelSelector(`${selector},${others}`))(labels)]).toEqual([
        selector,
        selects,
      ]);
    }
  });

  test.each([
    'k===',
    ',',
    'a,',
    'a,,b',
    'a b',
    'in (a)',
    'a in',
    'a in b',
    'a in (',
    'a in (b',
    '!',
    '=a',
    '-a',
    'a/b/c',
    'a=b c',
    'a>x',
    'a=@',
    '(',
    'a=(b)',
  ])('%j is no selector', (selector) => {
    expect(() => parseLabelSelector(selector)).toThrow(SelectorSyntaxError);
  });

  test.each([
    [',a', "found ',', expected: !, identifier, or 'end of string'"],
    ['a=v,', "found '', expected: identifier after ','"],
    ['a=b c', "found 'c', expected: ',' or 'end of string'"],
    ['!', "unable to parse requirement: found '', expected: identifier"],
    ['a=(b)', "unable to parse requirement: found '(', expected: identifier"],
    ['a b', "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ['a in b', "unable to parse requirement: found 'b' expected: '('"],
    ['a in (', "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ['a in (b c)', "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ['/x', 'unable to parse requirement: <nil>: Invalid value: "/x": prefix part must be non-empty'],
    [
      `a>${'9'.repeat(20)}`,
      `unable to parse requirement: values[0]: Invalid value: "${'9'.repeat(20)}": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      `/x in (a,${'b'.repeat(64)})`,
      `unable to parse requirement: [<nil>: Invalid value: "/x": prefix part must be non-empty, values[1][/x]: Invalid value: "${'b'.repeat(64)}": must be no more than 63 bytes]`,
    ],
  ])('%s is refused in the words of kube-apiserver', (selector, message) => {
    expect(() => parseLabelSelector(selector)).toThrow(new SelectorSyntaxError(message));
  });

  const many = (count: number, term: (n: number) => string): string =>
    Array.from({ length: count }, (_, n) => term(n)).join(',');

  test.each([
    ['requirements', many(1_001, (n) => `a${n}`), many(1_000, (n) => `a${n}`)],
    ['values of a set', `a in (${many(1_001, (n) => `v${n}`)})`, `a in (${many(1_000, (n) => `v${n}`)})`],
    ['values of sets', many(251, (n) => `a in (1,2,3,${n})`), many(250, (n) => `a in (a,b,c,${n})`)],
    ['characters', `a${' '.repeat(32_768)}`, `a${' '.repeat(32_767)}`],
  ])('a selector with too many %s is refused with the name of the parameter', (_, refused, accepted) => {
    expect(() => parseLabelSelector(refused)).toThrow(/^labelSelector has more than (1000|32768) /);
    expect(parseLabelSelector(accepted).requirements.length).toBeGreaterThan(0);
  });

  test('a selector that is read twice in a row is parsed once', () => {
    const [text, other] = ['a=1,b=2', 'a=1'];
    const first = parseLabelSelector(text);
    expect(parseLabelSelector(text)).toBe(first);
    expect(parseLabelSelector(other).requirements).toHaveLength(1);
    expect(parseLabelSelector(text)).toEqual(first);
  });
});

describe('fields', () => {
  const kind = defineKind({
    group: '',
    version: 'v1',
    kind: 'Note',
    plural: 'notes',
    singular: 'note',
    description: '',
    fields: { reason: jsonField(stringSchema, '') },
    names: pathSegmentNames,
    qualifiedFinalizers: false,
    ownsOthers: false,
    selectableFields: { reason: ({ reason }) => reason ?? '' },
    unknownSelectorField: (name) => `field label not supported: ${name}`,
  });
  const note = { name: 'a', namespace: 'n', fields: kind.fieldsOf?.({ metadata: {}, reason: 'x=y,\\z' }) };

  test('an unknown field is rejected with those that the kind has', () => {
    const { schema: _, unknownSelectorField: __, ...own } = kind;
    const plain = defineKind({ ...own, fields: { reason: jsonField(stringSchema, '') } });
    expect(() => parseFieldSelector('spec.color=a', plain)).toThrow(
      '"spec.color" is not a known field selector: only "metadata.name", "metadata.namespace", "reason"',
    );
  });

  test.each([
    ['', true],
    ['metadata.name=a', true],
    ['metadata.name==a,metadata.namespace!=m', true],
    ['metadata.name!=a', false],
    ['reason=x\\=y\\,\\\\z', true],
    ['reason=x', false],
    [',metadata.name=a,', true],
  ])('%j selects: %s', (selector, selects) => {
    expect(fieldMatcher(parseFieldSelector(selector, kind))(note)).toBe(selects);
  });

  test.each([
    ['requirements', (n: number) => 'metadata.name!=a,'.repeat(n), 1_000],
    ['characters', (n: number) => `reason=${'x'.repeat(n - 'reason='.length)}`, 32_768],
  ])('a selector with too many %s is refused with the name of the parameter', (_, selector, max) => {
    expect(() => parseFieldSelector(selector(max + 1), kind)).toThrow(/^fieldSelector has more than (1000|32768) /);
    expect(parseFieldSelector(selector(max), kind).terms.length).toBeGreaterThan(0);
  });

  test.each(['a', 'metadata.name', 'reason=a=b', 'reason=a\\b', 'spec.colour=blue', 'constructor=x'])(
    '%j is no selector of the kind',
    (selector) => {
      expect(() => parseFieldSelector(selector, kind)).toThrow(SelectorSyntaxError);
    },
  );
});
