import { describe, expect, test } from '@jest/globals';
import type { JsonObject } from '@cluster-apiserver/model/json';
import { boolean, jsonField, int32, list, listMap, object, string } from '@cluster-apiserver/model/schema';
import { ConfigurationFault, mergeConfiguration } from './apply-configuration.ts';

const port = object({ name: jsonField(string, ''), port: jsonField(int32, ''), open: jsonField(boolean, '') });
const endpoint = object({
  host: jsonField(string, ''),
  protocol: jsonField({ ...string, default: 'TCP' }, ''),
  port: jsonField(int32, ''),
});
const schema = object(
  {
    text: jsonField(string, ''),
    number: jsonField(int32, ''),
    inner: jsonField(object({ a: jsonField(string, ''), b: jsonField(string, '') }), ''),
    labels: jsonField({ type: 'map', values: string }, ''),
    lists: jsonField(listMap, ''),
    set: jsonField(list(string, 'set'), ''),
    ports: jsonField(list(port, { keys: ['name'] }), ''),
    endpoints: jsonField(list(endpoint, { keys: ['host', 'protocol'] }), ''),
    open: jsonField({ ...object({ known: jsonField(string, '') }), rest: string }, ''),
    atomicList: jsonField(list(string, 'atomic'), ''),
  },
  {},
);
const merged = (live: JsonObject, configuration: JsonObject): unknown =>
  mergeConfiguration(schema, live, configuration);

describe('an apply configuration', () => {
  test.each<[string, JsonObject, JsonObject, object]>([
    ['adds a field', { text: 'a' }, { number: 1 }, { text: 'a', number: 1 }],
    ['replaces a field', { text: 'a' }, { text: 'b' }, { text: 'b' }],
    ['merges objects', { inner: { a: '1' } }, { inner: { b: '2' } }, { inner: { a: '1', b: '2' } }],
    ['merges maps', { labels: { a: '1', b: '2' } }, { labels: { b: '3' } }, { labels: { a: '1', b: '3' } }],
    [
      'takes every key for data',
      { labels: {} },
      { labels: JSON.parse('{"__proto__": "x"}') as object },
      { labels: JSON.parse('{"__proto__": "x"}') as object },
    ],
    ['adds to a set', { set: ['a', 'b'] }, { set: ['c', 'a'] }, { set: ['a', 'b', 'c'] }],
    [
      'merges the entries of a list by their keys',
      {
        ports: [
          { name: 'x', port: 1 },
          { name: 'y', port: 2 },
        ],
      },
      {
        ports: [
          { name: 'z', port: 3 },
          { name: 'x', open: true },
        ],
      },
      {
        ports: [
          { name: 'x', port: 1, open: true },
          { name: 'y', port: 2 },
          { name: 'z', port: 3 },
        ],
      },
    ],
    [
      'replaces the lists of a map',
      { lists: { a: ['1'], b: ['2'] } },
      { lists: { a: ['3'] } },
      { lists: { a: ['3'], b: ['2'] } },
    ],
    [
      'merges entries by all of their keys, with defaults',
      {
        endpoints: [
          { host: 'a', protocol: 'UDP', port: 1 },
          { host: 'a', port: 2 },
        ],
      },
      { endpoints: [{ host: 'a', protocol: 'TCP', port: 3 }] },
      {
        endpoints: [
          { host: 'a', protocol: 'UDP', port: 1 },
          { host: 'a', protocol: 'TCP', port: 3 },
        ],
      },
    ],
    [
      'merges members that no field declares',
      { open: { known: 'a', x: '1' } },
      { open: { x: '2', constructor: '3' } },
      { open: { known: 'a', x: '2', constructor: '3' } },
    ],
    ['makes what is not there', {}, { set: ['a'], inner: { a: '1' } }, { set: ['a'], inner: { a: '1' } }],
    ['takes away by null', { text: 'a', number: 1 }, { text: null }, { text: null, number: 1 }],
  ])('%s', (_, live, configuration, expected) => {
    expect(merged(live, configuration)).toEqual(expected);
  });

  // What else is refused stands with `findApplyFault`.
  test.each<[string, JsonObject, string]>([
    [
      'an unknown field',
      { inner: { c: 1 } },
      'failed to convert patch object to typed object: .inner.c: field not declared in schema',
    ],
    [
      'a wrong type where no field is declared',
      { open: { x: [1] } },
      'failed to convert patch object to typed object: .open.x: expected string, got &value.valueUnstructured{Value:[]interface {}{1}}',
    ],
    [
      'two entries of one key',
      { endpoints: [{ host: 'a' }, { host: 'a', protocol: 'TCP' }] },
      'failed to convert patch object to typed object: .endpoints: duplicate entries for key [host="a",protocol="TCP"]',
    ],
    [
      'a list that has one owner',
      { atomicList: ['a'] },
      'invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .atomicList',
    ],
  ])('with %s is refused', (_, configuration, message) => {
    expect(() => merged({}, configuration)).toThrow(new ConfigurationFault(message));
  });
});
