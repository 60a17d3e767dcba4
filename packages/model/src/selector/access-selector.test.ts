import { expect, test } from '@jest/globals';
import { readFieldSelector, readLabelSelector } from './access-selector.ts';

const requirement = (key: string, operator: string, ...values: string[]): object =>
  values.length === 0 ? { key, operator } : { key, operator, values };

test.each<[string, object[], boolean]>([
  ['spec.node=n1', [requirement('spec.node', 'In', 'n1')], false],
  ['a==b,c!=d,', [requirement('a', 'In', 'b'), requirement('c', 'NotIn', 'd')], false],
  ['a!=b\\,c\\=d,x==', [requirement('a', 'NotIn', 'b,c=d'), requirement('x', 'In', '')], false],
  ['a', [], true],
  ['a=b,c', [], true],
  ['a=b=c', [], true],
  ['__proto__=a', [requirement('__proto__', 'In', 'a')], false],
])('authorizers get the field selector %j as %j', (rawSelector, requirements, isPartial) => {
  const selector = requirements.length > 0 ? { requirements } : undefined;
  expect(readFieldSelector({ rawSelector })).toEqual({ selector, isPartial });
});

test.each<[string, object[], boolean]>([
  ['a=1,b in (x,y)', [requirement('a', 'In', '1'), requirement('b', 'In', 'x', 'y')], false],
  [
    'd,!c,b notin (z),a!=2',
    [
      requirement('a', 'NotIn', '2'),
      requirement('b', 'NotIn', 'z'),
      requirement('c', 'DoesNotExist'),
      requirement('d', 'Exists'),
    ],
    false,
  ],
  ['a>3,b=c', [requirement('b', 'In', 'c')], false],
  ['a>3', [], false],
  ['a=(', [], true],
])('authorizers get the label selector %j as %j', (rawSelector, requirements, isPartial) => {
  const selector = requirements.length > 0 ? { requirements } : undefined;
  expect(readLabelSelector({ rawSelector })).toEqual({ selector, isPartial });
});

test('of parsed requirements those are left out that an authorizer could not evaluate', () => {
  const requirements = [
    { key: 'a', operator: 'In', values: ['1'] },
    { key: 'b', operator: 'In', values: ['1', '2'] },
    { key: 'c', operator: 'Exists', values: [] },
    { key: 'd', operator: 'Near', values: ['1'] },
    {},
  ];
  const [a, b] = requirements;
  expect(readFieldSelector({ requirements })).toEqual({ selector: { requirements: [a] }, isPartial: true });
  expect(readLabelSelector({ requirements })).toEqual({
    selector: { requirements: [a, b, { key: 'c', operator: 'Exists' }] },
    isPartial: true,
  });
  expect(readLabelSelector({ requirements: [] })).toEqual({ selector: undefined, isPartial: false });
});
