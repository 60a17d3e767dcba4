import { NamedFormat } from '../library/named-formats.ts';
import type { Node } from '../syntax/node.ts';
import { Cidr, Ip } from '../values/ip.ts';
import { MapValue, Opaque, Optional, type Value } from '../values/value.ts';
import { costOf } from './size.ts';

/** Reading a character of a text, and a character of a pattern for one of a text. */
const perCharacter = 0.1;
const perPatternCharacter = 0.25;
const newListUnits = 10;

/** What a call costs in kube-apiserver's units, besides its arguments. */
type UnitsOf = (args: readonly Value[], result: Value) => number;

/** What a call of a function costs. */
export const callUnits = (name: string, args: readonly Node[]): UnitsOf =>
  name === '@in' && isSetOfConstants(args[1]) ? () => 0 : (units.get(name) ?? (() => 1));

/** Kube-apiserver looks into such a list at no cost. */
const isSetOfConstants = (list: Node | undefined): boolean =>
  list?.kind === 'list' &&
  list.elements.every(({ value }) => value.kind === 'literal' && !(value.value instanceof Uint8Array));

/** What comparing two values costs. Those of some types have a fixed size. */
export const equalityUnits = (left: Value, right: Value): number =>
  left instanceof Opaque ? 1 : costOf(Math.min(sizeOf(left), sizeOf(right)), perCharacter);

/** Characters, bytes or entries; one for all other values. */
function sizeOf(value: Value | undefined): number {
  if (typeof value === 'string') return charactersOf(value);
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length;
  if (value instanceof MapValue) return value.size;
  if (value instanceof Optional) return sizeOf(value.value);
  if (value instanceof Ip) return value.bits / 8;
  return value instanceof Cidr ? Math.ceil(value.length / 8) : 1;
}

function charactersOf(text: string): number {
  let count = text.length;
  for (let at = 0; at < text.length; at++) if (isLowSurrogate(text.charCodeAt(at))) count--;
  return count;
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** Everything in a value is looked at. */
function traversalUnits(value: Value | undefined): number {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * perCharacter);
  if (value instanceof Uint8Array) return Math.floor(value.length * perCharacter);
  if (Array.isArray(value)) return value.reduce<number>((total, element) => total + traversalUnits(element), 0);
  if (!(value instanceof MapValue)) return 1;
  let total = 0;
  for (const [key, held] of value.entries()) total += traversalUnits(key) + traversalUnits(held);
  return total;
}

const traversal =
  (factor: number, index = 0): UnitsOf =>
  (args) =>
    costOf(sizeOf(args[index]), factor * perCharacter);

const isText = (value: Value | undefined): boolean => typeof value === 'string' || value instanceof Uint8Array;

const comparison: UnitsOf = ([left, right]) =>
  isText(left) ? costOf(Math.min(sizeOf(left), sizeOf(right)), perCharacter) : 1;

const search: UnitsOf = ([text, pattern]) =>
  costOf(1 + sizeOf(text), perCharacter) * costOf(sizeOf(pattern), perPatternCharacter);

const newList = (size: number): number => Math.floor(size) + 1 + newListUnits;

/** Each element is compared with each. */
function selfComparison(list: Value | undefined): number {
  const size = sizeOf(list);
  const factor = Array.isArray(list) && isText(list[0]) ? 2 + perCharacter : 2;
  return newList(size * size * factor);
}

const sets =
  (factor: number): UnitsOf =>
  ([one, other]) =>
    1 + sizeOf(one) * sizeOf(other) * factor;

/** `more`: for a range that is looked for in another one. */
const contains =
  (more: (size: number) => number): UnitsOf =>
  ([range, other]) => {
    const size = sizeOf(range);
    const parsed = typeof other === 'string' ? costOf(sizeOf(other), perCharacter) : 0;
    return costOf(2 * size, perCharacter) + more(size) + parsed;
  };

const units: ReadonlyMap<string, UnitsOf> = new Map<string, UnitsOf>([
  ...['_<_', '_<=_', '_>_', '_>=_'].map((name) => [name, comparison] as const),
  ['_+_', ([left, right]) => (isText(left) ? costOf(sizeOf(left) + sizeOf(right), perCharacter) : 1)],
  ['@in', ([, container]) => (Array.isArray(container) ? container.length : 1)],
  ['matches', search],
  ['find', search],
  ['findAll', search],
  ['contains', ([text, part]) => costOf(sizeOf(text), perCharacter) * costOf(sizeOf(part), perCharacter)],
  ...['startsWith', 'endsWith', 'format', 'strings.quote', 'quantity', 'isQuantity', 'semver', 'isSemver', 'cidr'].map(
    (name) => [name, traversal(1)] as const,
  ),
  ...['isIP', 'isCIDR', 'url', 'lowerAscii', 'upperAscii', 'substring', 'trim'].map(
    (name) => [name, traversal(1)] as const,
  ),
  ...['bytes', 'string', 'ip'].map(
    (name) => [name, (args: readonly Value[]) => (isConverted(name, args[0]) ? traversal(1)(args, null) : 1)] as const,
  ),
  ...['replace', 'split', 'ip.isCanonical'].map((name) => [name, traversal(2)] as const),
  ['join', (_, result) => costOf(sizeOf(result), 2 * perCharacter)],
  ...['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'].map(
    (name) => [name, ([list]: readonly Value[]) => traversalUnits(list)] as const,
  ),
  ...['slice', 'reverse', 'lists.range'].map(
    (name) => [name, (_: unknown, made: Value) => newList(sizeOf(made))] as const,
  ),
  ['flatten', ([list, depth]) => newList(sizeOf(list) * Number(depth ?? 1))],
  ['distinct', ([list]) => selfComparison(list)],
  ['sort', ([list]) => selfComparison(list)],
  ['sets.contains', sets(1)],
  ['sets.intersects', sets(1)],
  ['sets.equivalent', sets(2)],
  ['containsIP', contains(() => 0)],
  ['containsCIDR', contains((size) => costOf(size, perCharacter) + 1)],
  [
    'validate',
    ([format, text]) =>
      costOf(1 + sizeOf(text), perCharacter) *
      costOf(format instanceof NamedFormat ? format.patternSize : 1, perPatternCharacter),
  ],
]);

/** Other conversions take one unit. */
const isConverted = (name: string, value: Value | undefined): boolean =>
  name === 'string' ? value instanceof Uint8Array : typeof value === 'string';

/** What sorting by keys costs, after the keys were made. */
export const sortUnits = (keys: readonly Value[]): number => selfComparison(keys);
