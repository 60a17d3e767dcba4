import { formatTypeName, type Type } from '../check/type.ts';
import type { Budget } from '../run/budget.ts';
import type { Fault } from '../syntax/fault.ts';
import type { Node } from '../syntax/node.ts';
import { formatDouble } from '../values/double.ts';
import { Duration, EvaluationError, MapValue, Timestamp, TypeValue, Uint, type Value } from '../values/value.ts';
import { formatDuration, formatTimestamp } from '../values/time.ts';
import { typeNameOf } from '../values/type-name.ts';
import { defineMethod, type Overload } from './overload.ts';

/** `'%s has %d'.format(['a', 1])`, with numbers as in English: Kubernetes keeps an early version of this function. */
export const format: readonly Overload[] = [
  defineMethod('string', 'format(list(dyn)) -> string', (pattern: string, values: readonly Value[], budget: Budget) =>
    piecesOf(pattern, values)
      .map((piece) => {
        if (typeof piece === 'string') return piece;
        const written = verbs[piece.verb].write(piece.argument, piece.precision, budget);
        budget.charge(clauseSteps + Math.floor(written.length / 16));
        return written;
      })
      .join(''),
  ),
];

/** Validates a format and its arguments if both are literals. */
export function validateFormat(pattern: Node, list: Node, at: number, typeOf: (node: Node) => Type): Fault[] {
  if (pattern.kind !== 'literal' || typeof pattern.value !== 'string' || list.kind !== 'list') return [];
  try {
    const clauses = piecesOf(pattern.value, list.elements).filter((piece) => typeof piece !== 'string');
    if (clauses.length < list.elements.length)
      throw new EvaluationError('too many arguments supplied to string.format');
    return clauses.flatMap(({ verb: needed, argument }) => {
      const wrong = findMisfit(argument.value, needed, typeOf);
      return wrong ? [{ at: wrong.at, message: describeMisfit(needed, formatTypeName(typeOf(wrong))) }] : [];
    });
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return [{ at, message: error.message }];
  }
}

/** The part that the verb cannot write, if any. */
function findMisfit(node: Node, verb: Verb, typeOf: (node: Node) => Type): Node | undefined {
  const { kind } = typeOf(node);
  if (kind !== 'dyn' && !verbs[verb].takes.includes(kind)) return node;
  const parts =
    node.kind === 'list'
      ? node.elements.map(({ value }) => value)
      : node.kind === 'map'
        ? node.entries.flatMap(({ key, value }) => [key, value])
        : [];
  return parts.find((part) => findMisfit(part, verb, typeOf));
}

interface Clause<T> {
  readonly verb: Verb;
  readonly argument: T;
  readonly precision: number;
}

/** Reading a clause and writing a number. */
const clauseSteps = 8;

/** Without a precision a number has six digits after its point. */
const precisionDefault = 6;
/** A double has no more digits to show; the texts would only grow. */
const precisionMax = 100;

function piecesOf<T>(pattern: string, args: readonly T[]): (string | Clause<T>)[] {
  const remaining = args.entries();
  const pieces: (string | Clause<T>)[] = [];
  for (const [piece, precision, letter = ''] of pattern.matchAll(/[^%]+|%%|%(?:\.(\d*))?([^]?)/g)) {
    if (!piece.startsWith('%')) pieces.push(piece);
    else if (piece === '%%') pieces.push('%');
    else {
      if (!isVerb(letter))
        throw new EvaluationError(`could not parse formatting clause: unrecognized formatting clause "${letter}"`);
      if (precision === '' || Number(precision) > precisionMax)
        throw new EvaluationError(`could not parse formatting clause: a precision is a number up to ${precisionMax}`);
      const next = remaining.next();
      if (next.done === true) throw new EvaluationError(`index ${args.length} out of range`);
      pieces.push({ verb: letter, argument: next.value[1], precision: Number(precision ?? precisionDefault) });
    }
  }
  return pieces;
}

type Verb = 's' | 'd' | 'f' | 'e' | 'b' | 'o' | 'x' | 'X';
const isVerb = (text: string): text is Verb => Object.hasOwn(verbs, text);

interface Writer {
  readonly takes: readonly Type['kind'][];
  readonly write: (value: Value, precision: number, budget: Budget) => string;
}

const whole: readonly Type['kind'][] = ['int', 'uint'];
const real: readonly Type['kind'][] = ['double', 'string'];
const bytes: readonly Type['kind'][] = [...whole, 'string', 'bytes'];
const anything: readonly Type['kind'][] = [
  ...bytes,
  'list',
  'map',
  'double',
  'bool',
  'timestamp',
  'duration',
  'type',
  'null',
];

const verb = (takes: Writer['takes'], write: Writer['write']): Writer => ({ takes, write });

const verbs: Readonly<Record<Verb, Writer>> = {
  s: verb(anything, (value, _, budget) => writeValue(value, budget)),
  d: verb(whole, (value) => String(wholeIn(value, 'd'))),
  f: verb(real, (value, precision) => writeFixed(doubleIn(value, 'f'), precision)),
  e: verb(real, (value, width) => writeExponential(doubleIn(value, 'e')).padStart(width)),
  b: verb([...whole, 'bool'], (value) =>
    typeof value === 'boolean' ? String(Number(value)) : wholeIn(value, 'b').toString(2),
  ),
  o: verb(whole, (value) => wholeIn(value, 'o').toString(8)),
  x: verb(bytes, (value) => writeHexadecimal(value)),
  X: verb(bytes, (value) => writeHexadecimal(value).toUpperCase()),
};

/** Without the types of what is in it. */
const describeMisfit = (of: Verb, typeName: string): string =>
  `error during formatting: ${demands[of]}, was given ${typeName.replace(/\(.*/, '')}`;

const hexadecimal = 'only integers, byte buffers, and strings can be formatted as hex';
/** In the words of kube-apiserver. */
const demands: Readonly<Record<Verb, string>> = {
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  d: 'decimal clause can only be used on integers',
  f: 'fixed-point clause can only be used on doubles',
  e: 'scientific clause can only be used on doubles',
  b: 'only integers and bools can be formatted as binary',
  o: 'octal clause can only be used on integers',
  x: hexadecimal,
  X: hexadecimal,
};

const misfit = (of: Verb, value: Value): EvaluationError => new EvaluationError(describeMisfit(of, typeNameOf(value)));

function wholeIn(value: Value, of: Verb): bigint {
  if (typeof value === 'bigint') return value;
  if (value instanceof Uint) return value.value;
  throw misfit(of, value);
}

const namedDoubles: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

function doubleIn(value: Value, of: Verb): number {
  const named = typeof value === 'string' && Object.hasOwn(namedDoubles, value) ? namedDoubles[value] : value;
  if (typeof named === 'number') return named;
  throw misfit(of, value);
}

const special = (value: number): string | undefined => {
  if (Number.isFinite(value)) return undefined;
  if (Number.isNaN(value)) return 'NaN';
  return value > 0 ? '∞' : '-∞';
};

/** `1,234.500000` */
function writeFixed(number: number, precision: number): string {
  const [before = '', after] = (special(number) ?? digitsOf(number, precision)).split('.');
  const [, sign = '', digits = before] = /^(-?)(\d+)$/.exec(before) ?? [];
  const first = digits.length % 3;
  const groups = [digits.slice(0, first), ...(digits.slice(first).match(/.{3}/g) ?? [])].filter(
    (group) => group !== '',
  );
  const grouped = Number.isFinite(number) ? `${sign}${groups.join(',')}` : before;
  return after === undefined ? grouped : `${grouped}.${after}`;
}

function digitsOf(number: number, precision: number): string {
  if (Math.abs(number) >= 1e21) {
    const digits = BigInt(number).toString();
    return precision === 0 ? digits : `${digits}.${'0'.repeat(precision)}`;
  }
  // JavaScript rounds what lies just between two results upwards, others to the even one.
  const [, digits = '', rest = ''] =
    new RegExp(`^(.*\\.\\d{${precision}})(\\d*)$`).exec(number.toFixed(precisionMax)) ?? [];
  const toEven = /^50*$/.test(rest) && /[02468]\.?$/.test(digits);
  return toEven ? digits.replace(/\.$/, '') : number.toFixed(precision);
}

/** `1.234500×10⁰³` */
function writeExponential(number: number): string {
  const [mantissa = '', exponent] = (special(number) ?? number.toExponential(precisionDefault)).split('e');
  if (exponent === undefined) return mantissa;
  const digits = exponent.replace(/^([-+])(\d)$/, '$10$2').replace('+', '');
  return `${mantissa}×10${digits.replaceAll(/./g, (digit) => superscripts.get(digit) ?? digit)}`;
}

const superscripts: ReadonlyMap<string, string> = new Map(
  Array.from('⁰¹²³⁴⁵⁶⁷⁸⁹⁻', (raised, index) => ['0123456789-'.charAt(index), raised]),
);

function writeHexadecimal(value: Value): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return wholeIn(value, 'x').toString(16);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(value: Uint8Array): string {
  try {
    return utf8.decode(value);
  } catch (cause) {
    throw new EvaluationError('error during formatting: invalid UTF-8 in bytes', { cause });
  }
}

/** As it is; within lists and maps as it is written in an expression. */
function writeValue(value: Value, budget: Budget): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return formatDouble(value);
  if (value instanceof Uint8Array) return textOf(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  return writeElement(value, budget);
}

function writeElement(value: Value, budget: Budget): string {
  budget.charge(8);
  if (typeof value === 'string') return quote(value, budget);
  if (typeof value === 'number')
    return Number.isFinite(value) ? digitsOf(value, precisionDefault) : `"${formatDouble(value)}"`;
  if (value === null || typeof value === 'bigint' || typeof value === 'boolean') return String(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return `b${quote(textOf(value), budget)}`;
  if (value instanceof Timestamp) return `timestamp("${formatTimestamp(value)}")`;
  if (value instanceof Duration) return `duration("${formatDuration(value)}")`;
  if (value instanceof TypeValue) return value.name;
  if (Array.isArray(value)) return `[${value.map((element) => writeElement(element, budget)).join(', ')}]`;
  if (value instanceof MapValue) {
    const entries = Array.from(
      value.entries(),
      ([key, held]) => [writeElement(key, budget), writeElement(held, budget)] as const,
    );
    entries.sort(([one], [other]) => (one < other ? -1 : 1));
    return `{${entries.map(([key, held]) => `${key}:${held}`).join(', ')}}`;
  }
  throw misfit('s', value);
}

function quote(text: string, budget: Budget): string {
  budget.charge(Math.floor(text.length / 16));
  return JSON.stringify(text);
}
