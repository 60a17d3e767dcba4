import { expect, test } from '@jest/globals';
import type { JsonObject } from '../json/json-object.ts';
import { describeTypeFaults } from './type-faults.ts';
import { boolean, double, int64, intOrString, jsonField, list, object, string, stringMap, time } from './schema.ts';

const port = object({
  name: jsonField(string, ''),
  protocol: jsonField({ ...string, default: 'TCP' }, ''),
  number: jsonField(int64, ''),
});
const spec = object({
  size: jsonField(int64, ''),
  ratio: jsonField(double, ''),
  on: jsonField(boolean, ''),
  name: jsonField(string, ''),
  when: jsonField(time, ''),
  any: jsonField(intOrString, ''),
  inner: jsonField(object({ a: jsonField(string, '') }), ''),
  words: jsonField(stringMap, ''),
  ports: jsonField(list(port, { keys: ['name', 'protocol'] }), ''),
  links: jsonField(list(object({ host: jsonField(string, '') }), { keys: ['host'] }), ''),
  tags: jsonField(list(string, 'set'), ''),
  atoms: jsonField(list(object({ a: jsonField(string, '') }), 'atomic'), ''),
});

const go = (text: string): string => `&value.valueUnstructured{Value:${text}}`;

// What kube-apiserver 1.36 answers.
test.each<[values: JsonObject, fault: string]>([
  [{ size: 'x' }, '.size: expected numeric (int or float), got string'],
  [{ size: true }, '.size: expected numeric (int or float), got bool'],
  [{ size: {} }, '.size: expected numeric (int or float), got map[string]interface {}'],
  [{ ratio: [] }, '.ratio: expected numeric (int or float), got []interface {}'],
  [{ on: { a: 1 } }, '.on: expected boolean, got &{map[a:1]}'],
  [{ name: 1.5 }, `.name: expected string, got ${go('1.5')}`],
  [
    { name: { b: 'x"y', a: ['c', { d: 1 }] } },
    `.name: expected string, got ${go('map[string]interface {}{"a":[]interface {}{"c", map[string]interface {}{"d":1}}, "b":"x\\"y"}')}`,
  ],
  [{ when: [] }, '.when: expected any scalar, got &{[]}'],
  [{ any: {} }, '.any: expected any scalar, got &{map[]}'],
  [{ inner: ['a'] }, '.inner: expected map, got &{[a]}'],
  [{ inner: { b: 1 } }, '.inner.b: field not declared in schema'],
  [{ words: { a: 1 } }, `.words.a: expected string, got ${go('1')}`],
  [{ ports: 'x' }, '.ports: expected list, got &{x}'],
  [{ ports: [{ name: 'a', zork: 1 }] }, '.ports[name="a",protocol="TCP"].zork: field not declared in schema'],
  [{ ports: [{ name: 1 }] }, `.ports[name=1,protocol="TCP"].name: expected string, got ${go('1')}`],
  [{ ports: [{ name: 'a' }, { name: 'a' }] }, '.ports: duplicate entries for key [name="a",protocol="TCP"]'],
  [{ ports: [null] }, '.ports: element 0: associative list with keys may not have a null element'],
  [{ ports: [1] }, '.ports: element 0: associative list with keys may not have non-map elements'],
  [
    { links: [{ host: 'a' }, {}] },
    '.links: element 1: associative list with keys has an element that omits all key fields ["host"] (and doesn\'t have default values for any key fields)',
  ],
  [{ tags: [1] }, `.tags[=1]: expected string, got ${go('1')}`],
  [{ tags: ['a', 'a'] }, '.tags: duplicate entries for key [="a"]'],
  [{ tags: [null] }, ".tags: element 0: associative list without keys has an element that's an explicit null"],
  [{ tags: [{}] }, ".tags: element 0: associative list without keys has an element that's a map type"],
  [{ tags: [[]] }, '.tags: element 0: not supported: associative list with lists as elements'],
  [{ atoms: [{ b: 1 }] }, '.atoms[0].b: field not declared in schema'],
  [{ atoms: [1] }, '.atoms[0]: expected map, got &{1}'],
  [
    { size: 'x', zork: 1 },
    'errors:\n  .size: expected numeric (int or float), got string\n  .zork: field not declared in schema',
  ],
])('%j has faults in the words of kube-apiserver', (values, fault) => {
  expect(describeTypeFaults(spec, values)).toBe(fault);
});

test('what is absent, and what one may write, has no fault', () => {
  const values = {
    size: 1,
    ratio: 1.5,
    on: null,
    any: 'x',
    when: 'x',
    ports: [{ number: 1 }],
    tags: ['a'],
    atoms: [null],
  };
  expect(describeTypeFaults(spec, values)).toBeUndefined();
});

test('many long faults make a short message', () => {
  const long = 'x'.repeat(100_000);
  const ports = Array.from({ length: 1_000 }, (_, i) => ({ name: `${i}${long}`, zork: 1 }));
  expect(describeTypeFaults(spec, { ports, name: [long] })?.length).toBeLessThan(120_000);
});
