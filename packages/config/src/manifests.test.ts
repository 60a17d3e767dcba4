import { describe, expect, test } from '@jest/globals';
import { ConfigurationError, readManifests } from './index.ts';

const a = { apiVersion: 'v1', kind: 'A', name: 'a' };
const b = { apiVersion: 'v1', kind: 'B', name: 'b' };

describe('the objects of a file are', () => {
  test.each<[string, string, object[]]>([
    ['none, if it is empty', '', []],
    ['none, if it holds comments', '# nothing\n---\n# at all\n', []],
    ['the one that it holds', JSON.stringify(a), [{ place: '', value: a }]],
    [
      'those of all of its documents',
      `${JSON.stringify(a)}\n--- \r\napiVersion: v1\nkind: B\nname: b\n---\n`,
      [
        { place: 'document 1', apiVersion: 'v1', kind: 'A', value: a },
        { place: 'document 2', apiVersion: 'v1', kind: 'B', value: b },
      ],
    ],
    [
      'those of a list',
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [a, b] }),
      [
        { place: 'items[0]', value: a },
        { place: 'items[1]', value: b },
      ],
    ],
    [
      'those of a list of one kind, which say what they are or not',
      JSON.stringify({ apiVersion: 'v1', kind: 'AList', items: [{ name: 'a' }, a] }),
      [
        { place: 'items[0]', kind: 'A', value: a },
        { place: 'items[1]', kind: 'A', value: a },
      ],
    ],
  ])('%s', (_, text, expected) => {
    expect(readManifests(text)).toMatchObject(expected);
    expect(readManifests(text)).toHaveLength(expected.length);
  });
});

describe('a file is rejected', () => {
  test.each<[string, string, string[]]>([
    ['that holds no objects', '[1]', ['expected an object']],
    ['whose object does not say what it is', '{"kind":"A"}', ['apiVersion and kind are required']],
    ['with a list of nothing', '{"apiVersion":"v1","kind":"List"}', ['items: expected a list']],
    [
      'with a list of something else',
      '{"apiVersion":"v1","kind":"List","items":[{},7]}',
      ['items[0]: apiVersion and kind are required', 'items[1]: expected an object'],
    ],
    [
      'with all that is wrong, by the lines of the file',
      'a: 1\n---\na: 1\na: 2\n---\nb',
      [
        'line 4: the key "a" is already set in this map',
        'document 1: apiVersion and kind are required',
        'document 2: apiVersion and kind are required',
        'document 3: expected an object',
      ],
    ],
    [
      'with a separator that is none',
      '{a: b}\n--- # second\n{a: b}',
      ['the file holds more than one document: remove all but one', 'apiVersion and kind are required'],
    ],
  ])('%s', (_, text, problems) => {
    const read = (): unknown => readManifests(text);
    expect(read).toThrow(ConfigurationError);
    try {
      read();
    } catch (error) {
      expect([...(error as ConfigurationError).faults].toSorted()).toEqual(problems.toSorted());
    }
  });
});
