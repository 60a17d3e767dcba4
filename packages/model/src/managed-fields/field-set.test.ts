import { describe, expect, test } from '@jest/globals';
import { array, assert, constantFrom, oneof, property } from 'fast-check';
import {
  difference,
  emptySet,
  type FieldSet,
  GrowingFieldSet,
  fieldStep,
  fromFieldsV1,
  isEmptySet,
  toFieldsV1,
  union,
} from './field-set.ts';

const step = oneof(constantFrom('a', 'b', 'c').map(fieldStep), constantFrom('v:"x"', 'v:"y"'));
const path = array(step, { minLength: 1, maxLength: 4 });
const paths = array(path, { maxLength: 8 });

const setOf = (places: readonly (readonly string[])[]): FieldSet => {
  const builder = new GrowingFieldSet();
  for (const place of places) builder.add(place);
  return builder;
};
const text = (set: FieldSet): string => JSON.stringify(toFieldsV1(set));
const placesOf = (places: readonly (readonly string[])[]): Set<string> =>
  new Set(places.map((place) => place.join('/')));

describe('a field set behaves like a set of places', () => {
  type Combine<T> = (left: T, right: T) => T;
  test.each<[string, Combine<FieldSet>, Combine<Set<string>>]>([
    ['union', union, (left, right) => left.union(right)],
    ['difference', difference, (left, right) => left.difference(right)],
  ])('%s', (_, ofSets, ofPlaces) => {
    assert(
      property(paths, paths, (left, right) => {
        const expected = setOf([...ofPlaces(placesOf(left), placesOf(right))].map((place) => place.split('/')));
        expect(text(ofSets(setOf(left), setOf(right)))).toBe(text(expected));
      }),
      { seed: 1 },
    );
  });
});

test('a set written as fieldsV1 is read as the same set', () => {
  assert(
    property(paths, (places) =>
      expect(text(fromFieldsV1(toFieldsV1(setOf(places))) as FieldSet)).toBe(text(setOf(places))),
    ),
    { seed: 1 },
  );
});

test('a dot distinguishes a place from the places below it', () => {
  expect(toFieldsV1(setOf([['f:a'], ['f:a', 'f:b']]))).toEqual({ 'f:a': { '.': {}, 'f:b': {} } });
  expect(toFieldsV1(setOf([['f:a', 'f:b']]))).toEqual({ 'f:a': { 'f:b': {} } });
});

test.each([[null], [[]], ['x'], [{ a: {} }], [{ 'f:a': 1 }], [{ 'f:a': { b: {} } }], [{ 'z:a': {} }]])(
  '%j is no field set',
  (value) => {
    expect(fromFieldsV1(value)).toBeUndefined();
  },
);

test('the empty set is empty, and a set without all its places is too', () => {
  expect(isEmptySet(emptySet)).toBe(true);
  assert(
    property(paths, (places) => expect(isEmptySet(difference(setOf(places), setOf(places)))).toBe(true)),
    { seed: 1 },
  );
});
