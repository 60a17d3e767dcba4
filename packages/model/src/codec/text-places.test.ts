import { expect, test } from '@jest/globals';
import { textPlaces } from './text-places.ts';

const yaml = `kind: A
list:
  - name: one
    "quoted": "two"
  - {flow: [1,  2]}
base: &base
  inherited: x
block: |
  text
alias: *base
merged:
  <<: *base
  own: y
own: 1
own: 2
empty:
---
second: 1
`;

test.each([
  [['kind'], '1:7'],
  [['list'], '2:1'],
  [['list', 0], '3:5'],
  [['list', 0, 'name'], '3:11'],
  [['list', 0, 'quoted'], '4:15'],
  [['list', 1, 'flow', 1], '5:17'],
  [['list', 7], '2:1'],
  [['block'], '8:1'],
  [['alias'], '10:8'],
  [['alias', 'inherited'], '7:14'],
  [['merged', 'inherited'], '7:14'],
  [['merged', 'absent', 'below'], '11:1'],
  [['empty'], '16:1'],
  [['absent'], '1:1'],
  [[], '1:1'],
] as const)('the value at %j is found', (path, place) => {
  const { line, column } = textPlaces(yaml).of(path);
  expect(`${line}:${column}`).toBe(place);
});

test('a key is found in its map, and else the map', () => {
  const places = textPlaces(yaml);
  expect(places.ofKey(['list', 0], 'quoted')).toEqual({ line: 4, column: 5 });
  expect(places.ofKey(['list', 0], 'absent')).toEqual({ line: 3, column: 5 });
});

test('keys that are set twice are found', () => {
  expect(textPlaces(yaml).duplicateKeys).toEqual([{ line: 15, column: 1, name: expect.any(String) }]);
});

test('JSON has the same places, with tabs, too', () => {
  const places = textPlaces('{\n\t"a": [1,\n\t\t{"b": "c"}],\n\t"a": 2\n}');
  expect(places.duplicateKeys).toEqual([{ line: 4, column: 2, name: 'a' }]);
  expect(textPlaces('{\n\t"a": [1,\n\t\t{"b": "c"}]\n}').of(['a', 1, 'b'])).toEqual({ line: 3, column: 9 });
});

test('a text that cannot be read has its begin only', () => {
  expect(textPlaces('a: [').of(['a'])).toEqual({ line: 1, column: 1 });
});
