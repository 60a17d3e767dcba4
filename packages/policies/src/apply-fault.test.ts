import { expect, test } from '@jest/globals';
import { widget } from '../../expressions/test/widget.ts';
import { findApplyFault } from './apply-fault.ts';

const { schema } = widget;

test.each([
  [
    'a field of the kind',
    { spec: { size: 1, on: null, raw: { a: [1] }, at: 'x' }, metadata: { labels: { a: 'b' } } },
    undefined,
  ],
  ['a list that writers share', { spec: { ports: [{ name: 'a', number: 1 }], tags: ['a'] } }, undefined],
  [
    'an unknown field',
    { colour: 'red' },
    'failed to convert patch object to typed object: .colour: field not declared in schema',
  ],
  [
    'another type',
    { spec: { on: 'yes' } },
    'failed to convert patch object to typed object: .spec.on: expected boolean, got &{yes}',
  ],
  [
    'several mistakes',
    { spec: { size: 'a', ports: {}, selector: 1, namespace: 1, at: {}, tags: ['a', 'a'] }, words: [{}] },
    [
      'failed to convert patch object to typed object: errors:',
      '  .spec.size: expected numeric (int or float), got string',
      '  .spec.ports: expected list, got &{map[]}',
      '  .spec.selector: expected map, got &{1}',
      '  .spec.namespace: expected string, got &value.valueUnstructured{Value:1}',
      '  .spec.at: expected any scalar, got &{map[]}',
      '  .spec.tags: duplicate entries for key [="a"]',
      '  .words[0]: expected string, got &value.valueUnstructured{Value:map[string]interface {}{}}',
    ].join('\n'),
  ],
  [
    'an element that can have no key, the first of them',
    { spec: { ports: [null, 1] } },
    'failed to convert patch object to typed object: .spec.ports: element 0: associative list with keys may not have a null element',
  ],
  [
    'an element without its key',
    { spec: { ports: [{ number: 1 }] } },
    'failed to convert patch object to typed object: .spec.ports: element 0: associative list with keys has an element that omits all key fields ["name"] (and doesn\'t have default values for any key fields)',
  ],
  [
    'an atomic list',
    { words: ['a'], metadata: { ownerReferences: [{ uid: 'u' }] } },
    'invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .words, .metadata.ownerReferences[0]',
  ],
])('a configuration with %s is reported as by kube-apiserver', (_, configuration, fault) => {
  expect(findApplyFault(schema, configuration)).toBe(fault);
});
