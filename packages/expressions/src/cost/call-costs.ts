import type { Type } from '../check/type.ts';
import type { CostNode } from './cost-node.ts';
import { type CostPath, costOf, exactly, product, type Size, type SizeAt, sum, times, unknownSize } from './size.ts';

/** An argument of a call. */
export interface Argument {
  readonly node: CostNode;
  readonly path: CostPath;
  readonly type: Type;
  /** As far as it is known from the expression and from the path. */
  readonly size: Size | undefined;
}

/** The highest cost of a call besides its arguments, and the size of its result if that is known. */
interface CallCost {
  readonly cost: number;
  readonly size?: Size;
}

/** Reading a character of a text, and a character of a pattern for one of a text. */
const perCharacter = 0.1;
const perPatternCharacter = 0.25;
const newListCost = 10;
/** An address has up to 16 bytes. */
const addressSize = 16;
/** The pattern of a format of names. */
const formatPatternSize = 128;
const formatSize = 64;

interface Call {
  readonly takes: readonly Type[];
  readonly args: readonly Argument[];
  /** The size of an argument, and that of an argument that a function without a target takes first. */
  readonly size: (index: number) => Size;
  readonly sizeAt: SizeAt;
}

type EstimateCost = (call: Call) => CallCost | undefined;

/**
 * Estimates a call by the function and by the types that an overload takes. The target of a method is the first argument.
 */
export function estimateCall(
  name: string,
  takes: readonly Type[],
  target: Argument | undefined,
  others: readonly Argument[],
  sizeAt: SizeAt,
): CallCost {
  const args = target ? [target, ...others] : others;
  const size = (index: number): Size => args[index]?.size ?? unknownSize;
  return estimates.get(name)?.({ takes, args, size, sizeAt }) ?? { cost: 1 };
}

const traversal =
  (factor: number, index = 0): EstimateCost =>
  ({ size }) => ({
    cost: costOf(size(index).max, factor * perCharacter),
  });

/** The result is as long as the text. */
const sameLength: EstimateCost = ({ size }) => ({ cost: costOf(size(0).max, perCharacter), size: size(0) });

const newList = (size: Size, factor = 1): CallCost => ({ cost: costOf(size.max, factor) + 1 + newListCost, size });

/** An int that is written in the expression. */
function literalInt(argument: Argument | undefined, otherwise: number): number {
  const node = argument?.node;
  return node?.kind === 'literal' && typeof node.value === 'bigint' ? Math.max(0, Number(node.value)) : otherwise;
}

const comparison: EstimateCost = ({ takes, size }) =>
  takes[0] && compared.has(takes[0].kind)
    ? { cost: costOf(Math.min(size(0).max, size(1).max), perCharacter) }
    : undefined;
/** The others have one size. */
const compared: ReadonlySet<Type['kind']> = new Set(['string', 'bytes', 'parameter']);

const equality: EstimateCost = (call) => {
  const [left, right] = call.args;
  if (left?.type.kind === 'opaque' && right?.type.kind === 'opaque' && left.type.name === right.type.name)
    switch (left.type.name) {
      case 'kubernetes.URL':
        return { cost: costOf(right.size?.max ?? 1, perCharacter) };
      case 'kubernetes.NamedFormat':
        return { cost: costOf(formatSize, perCharacter) };
      default:
        return { cost: 1 };
    }
  return comparison(call);
};

const append: EstimateCost = ({ takes, size }) => {
  const whole = sum(size(0), size(1));
  switch (takes[0]?.kind) {
    case 'list':
      return { cost: 1, size: whole };
    case 'string':
    case 'bytes':
      return { cost: costOf(whole.max, perCharacter), size: whole };
    default:
      return undefined;
  }
};

/** Of the elements of a list, whose size is known if the list is a part of a value. */
function elementSize(
  { path, type }: Argument,
  sizeAt: SizeAt,
): { readonly type: Type; readonly size: Size } | undefined {
  if (type.kind !== 'list' && type.kind !== 'map' && type.kind !== 'optional') return undefined;
  const max = path.length === 0 ? undefined : sizeAt([...path, '@items']);
  return { type: type.kind === 'map' ? type.key : type.of, size: max === undefined ? unknownSize : { min: 0, max } };
}

/** Looks at all elements of a list, or at all characters of a text. */
const lookAtAll: EstimateCost = ({ args: [list], size, sizeAt }) => {
  const element = list && elementSize(list, sizeAt);
  if (!element) return { cost: costOf(size(0).max, perCharacter) };
  const isText = element.type.kind === 'string' || element.type.kind === 'bytes';
  const each = 1 + (isText ? costOf(element.size.max, perCharacter) : 0);
  return { cost: costOf(size(0).max, each) };
};

const searchCost = (text: Size, pattern: Size): number =>
  times(costOf(text.max + 1, perCharacter), costOf(pattern.max, perPatternCharacter));

/** At worst, each character is found. */
const find: EstimateCost = ({ size }) => ({
  cost: searchCost(size(0), size(1)),
  size: { min: 0, max: size(0).max },
});

/** Whether a text may grow by a replacement, and by how much. */
const replace: EstimateCost = ({ size }) => {
  const [whole, from, to] = [size(0), size(1), size(2)];
  let [count, kept] = [0, 0];
  if (from.min === 0) [count, kept] = [whole.max + 1, whole.max];
  else if (to.max <= from.min) kept = whole.max;
  else count = Math.ceil(whole.max / from.min);
  let [countMin, keptMin] = [0, 0];
  if (from.max === 0) [countMin, keptMin] = [whole.min + 1, whole.min];
  else if (from.max <= to.min) keptMin = whole.min;
  else countMin = Math.ceil(whole.min / from.max);
  const changed = product({ min: countMin, max: count }, to);
  return { cost: costOf(whole.max, 2 * perCharacter), size: sum(changed, { min: keptMin, max: kept }) };
};

const join: EstimateCost = ({ args, size, sizeAt }) => {
  const [list] = args;
  const count = size(0);
  const element = list && elementSize(list, sizeAt);
  const separators = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
  const texts = element ? product(count, element.size) : exactly(0);
  const whole = args.length > 1 ? sum(texts, product(size(1), separators)) : texts;
  return { cost: costOf(whole.max, perCharacter), size: whole };
};

const sortCost = (list: Size, { kind }: Type): CallCost =>
  newList(product(list, list), kind === 'string' || kind === 'bytes' ? 2 + perCharacter : 2);

const sets =
  (factor: number): EstimateCost =>
  ({ size }) => ({ cost: costOf(product(size(0), size(1)).max, factor) + 1 });

/** Two addresses are compared, and a text is read first. */
const contains =
  (more: number): EstimateCost =>
  ({ takes, size }) => ({
    cost:
      costOf(2 * addressSize, perCharacter) +
      more +
      (takes[1]?.kind === 'string' ? costOf(size(1).max, perCharacter) : 0),
  });

const estimates: ReadonlyMap<string, EstimateCost> = new Map<string, EstimateCost>([
  ...['_<_', '_<=_', '_>_', '_>=_', '_!=_'].map((name) => [name, comparison] as const),
  ['_==_', equality],
  ['_+_', append],
  ['@in', ({ takes, size }) => (takes[1]?.kind === 'list' ? { cost: size(1).max } : undefined)],
  ['matches', ({ size }) => ({ cost: searchCost(size(0), size(1)) })],
  ...['find', 'findAll'].map((name) => [name, find] as const),
  ['contains', ({ size }) => ({ cost: times(costOf(size(0).max, perCharacter), costOf(size(1).max, perCharacter)) })],
  ['startsWith', traversal(1, 1)],
  ['endsWith', traversal(1, 1)],
  ['format', traversal(1)],
  [
    'bytes',
    ({ takes, size }) =>
      takes[0]?.kind === 'string'
        ? { cost: costOf(size(0).max, perCharacter), size: { min: size(0).min, max: size(0).max * 4 } }
        : undefined,
  ],
  [
    'string',
    ({ takes, size }) =>
      takes[0]?.kind === 'bytes'
        ? { cost: costOf(size(0).max, perCharacter), size: { min: Math.floor(size(0).min / 4), max: size(0).max } }
        : undefined,
  ],
  [
    'strings.quote',
    ({ size }) => ({
      cost: costOf(size(0).max, perCharacter),
      size: { min: size(0).min + 2, max: size(0).max * 2 + 2 },
    }),
  ],
  ...['isSorted', 'sum', 'max', 'min', 'indexOf', 'lastIndexOf'].map((name) => [name, lookAtAll] as const),
  ...['url', 'lowerAscii', 'upperAscii', 'substring', 'trim'].map((name) => [name, sameLength] as const),
  ['replace', replace],
  [
    'split',
    ({ args, size }) => ({
      cost: costOf(size(0).max, 2 * perCharacter),
      size: { min: 0, max: splitCount(args[2], size(0).max) },
    }),
  ],
  ['join', join],
  ['slice', ({ args, size }) => newList(exactly(literalInt(args[2], size(0).max) - literalInt(args[1], 0)))],
  ['lists.range', ({ args }) => newList(exactly(literalInt(args[0], Number.POSITIVE_INFINITY)))],
  ['reverse', ({ size }) => newList(size(0))],
  ['flatten', ({ args, size }) => newList(size(0), args[1] ? literalInt(args[1], Number.POSITIVE_INFINITY) : 1)],
  ['distinct', ({ size }) => newList(product(size(0), size(0)), 2)],
  ['sort', ({ takes: [list], size }) => (list?.kind === 'list' ? sortCost(size(0), list.of) : undefined)],
  [
    '@sortByAssociatedKeys',
    ({ takes: [, keys], size }) => (keys?.kind === 'list' ? sortCost(size(1), keys.of) : undefined),
  ],
  ['sets.contains', sets(1)],
  ['sets.intersects', sets(1)],
  ['sets.equivalent', sets(2)],
  ...['cidr', 'isIP', 'isCIDR', 'quantity', 'isQuantity', 'semver', 'isSemver'].map(
    (name) => [name, traversal(1)] as const,
  ),
  ['ip', (call) => (call.takes[0]?.kind === 'string' ? traversal(1)(call) : undefined)],
  ['ip.isCanonical', traversal(2)],
  ['containsIP', contains(0)],
  ['containsCIDR', contains(costOf(addressSize, perCharacter) + 1)],
  [
    'validate',
    ({ size }) => ({
      cost: costOf(costOf(size(1).max, perCharacter), formatPatternSize * perPatternCharacter),
    }),
  ],
]);

/** As many parts as characters, or as the call asks for. */
function splitCount(limit: Argument | undefined, otherwise: number): number {
  const node = limit?.node;
  if (node?.kind !== 'literal' || typeof node.value !== 'bigint') return otherwise;
  return node.value < 0n ? Number.POSITIVE_INFINITY : Number(node.value);
}
