import type { Budget } from '../run/budget.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { lengthOf, toCodePointIndex, splitCodePoints, toCodeUnitIndex } from './code-points.ts';
import { defineFunction, defineMethod, getBudget, type Overload } from './overload.ts';

const text = (signature: string, run: Overload['run']): Overload => defineMethod('string', signature, run);

/**
 * Charges the worst case of a substring search: V8 may compare the whole part at every position.
 */
const search = (signature: string, run: (whole: string, part: string, ...more: never[]) => Value): Overload =>
  text(signature, (whole: string, part: string, ...more: never[]) => {
    getBudget(more).charge((whole.length * part.length) / 128);
    return run(whole, part, ...more);
  });

export const strings: readonly Overload[] = [
  search('contains(string) -> bool', (whole: string, part: string) => whole.includes(part)),
  text('startsWith(string) -> bool', (whole: string, part: string) => whole.startsWith(part)),
  text('endsWith(string) -> bool', (whole: string, part: string) => whole.endsWith(part)),

  text('charAt(int) -> string', (whole: string, at: bigint, budget: Budget) => {
    const points = splitCodePoints(whole, budget);
    return points[requireWithin(at, points.length)] ?? '';
  }),
  search('indexOf(string) -> int', (whole: string, part: string) =>
    BigInt(toCodePointIndex(whole, whole.indexOf(part))),
  ),
  search('indexOf(string, int) -> int', (whole: string, part: string, from: bigint, budget: Budget) => {
    if (part === '') return from;
    if (from < 0n) throw rangeError(from);
    if (from >= BigInt(lengthOf(whole, budget))) return -1n;
    return BigInt(toCodePointIndex(whole, whole.indexOf(part, toCodeUnitIndex(whole, Number(from)))));
  }),
  search('lastIndexOf(string) -> int', (whole: string, part: string) =>
    BigInt(toCodePointIndex(whole, whole.lastIndexOf(part))),
  ),
  search('lastIndexOf(string, int) -> int', (whole: string, part: string, from: bigint, budget: Budget) => {
    if (part === '') return from;
    if (from < 0n) throw rangeError(from);
    if (from >= BigInt(lengthOf(whole, budget))) return -1n;
    return BigInt(toCodePointIndex(whole, whole.lastIndexOf(part, toCodeUnitIndex(whole, Number(from)))));
  }),
  text('lowerAscii() -> string', (whole: string) => changeCase(whole, 'A', caseDistance)),
  text('upperAscii() -> string', (whole: string) => changeCase(whole, 'a', -caseDistance)),
  search('replace(string, string) -> string', replace),
  search(
    'replace(string, string, int) -> string',
    (whole: string, from: string, to: string, limit: bigint, budget: Budget) => replace(whole, from, to, budget, limit),
  ),
  search('split(string) -> list(string)', splitBy),
  search('split(string, int) -> list(string)', (whole: string, by: string, limit: bigint, budget: Budget) =>
    splitBy(whole, by, budget, limit),
  ),
  text('substring(int) -> string', (whole: string, from: bigint, budget: Budget) => cut(whole, budget, from)),
  text('substring(int, int) -> string', (whole: string, from: bigint, to: bigint, budget: Budget) =>
    cut(whole, budget, from, to),
  ),
  text('trim() -> string', trim),
  defineMethod('list(string)', 'join() -> string', (parts: readonly string[], budget: Budget) =>
    join(parts, '', budget),
  ),
  defineMethod('list(string)', 'join(string) -> string', (parts: readonly string[], by: string, budget: Budget) =>
    join(parts, by, budget),
  ),
  defineFunction('strings.quote(string) -> string', quote),
];

/** Not by a regular expression: one that looks for blanks before an end looks again from each of them. */
function trim(whole: string): string {
  const blank = (at: number): boolean => /\p{White_Space}/u.test(whole.charAt(at));
  let [from, to] = [0, whole.length];
  while (from < to && blank(from)) from++;
  while (to > from && blank(to - 1)) to--;
  return whole.slice(from, to);
}

const rangeError = (at: bigint): EvaluationError => new EvaluationError(`index out of range: ${at}`);

function requireWithin(at: bigint, length: number): number {
  if (at < 0n || at > BigInt(length)) throw rangeError(at);
  return Number(at);
}

function cut(whole: string, budget: Budget, from: bigint, to?: bigint): string {
  const points = splitCodePoints(whole, budget);
  const start = requireWithin(from, points.length);
  const end = to === undefined ? points.length : requireWithin(to, points.length);
  if (start > end) throw new EvaluationError(`invalid substring range. start: ${start}, end: ${end}`);
  const part = points.slice(start, end);
  return typeof part === 'string' ? part : part.join('');
}

/** A negative limit is none. */
function replace(whole: string, from: string, to: string, budget: Budget, limit = -1n): string {
  if (limit === 0n) return whole;
  const parts = splitBy(whole, from, budget, limit < 0n ? -1n : limit + 1n);
  // An empty string is found between all characters, before the first and after the last.
  if (from === '') {
    if (limit < 0n || limit > BigInt(parts.length)) parts.push('');
    parts.unshift('');
    if (limit >= 0n && BigInt(parts.length) > limit + 1n)
      parts.splice(Number(limit), Infinity, parts.slice(Number(limit)).join(''));
  }
  // Not by a shift: it takes 32 bits, and the product may have more.
  budget.charge((parts.length * to.length) / 16);
  return parts.join(to);
}

/** The last part contains the rest if the limit is reached. */
function splitBy(whole: string, by: string, budget: Budget, limit = -1n): string[] {
  if (limit === 0n) return [];
  budget.charge(by === '' ? whole.length : whole.length / by.length);
  const parts = by === '' ? Array.from(whole) : whole.split(by);
  if (limit < 0n || limit >= BigInt(parts.length)) return parts;
  const last = Number(limit) - 1;
  return [...parts.slice(0, last), parts.slice(last).join(by)];
}

function join(parts: readonly string[], by: string, budget: Budget): string {
  if (parts.some((part) => typeof part !== 'string')) throw new EvaluationError('no such overload: join(list, string)');
  budget.charge(parts.length + parts.reduce((sum, part) => sum + part.length + by.length, 0) / 16);
  return parts.join(by);
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['\x07', '\\a'],
  ['\b', '\\b'],
  ['\f', '\\f'],
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
  ['\v', '\\v'],
  ['\\', '\\\\'],
  ['"', '\\"'],
]);

function quote(whole: string): string {
  const escaped = whole.toWellFormed().replaceAll(/[\x07\b\f\n\r\t\v\\"]/g, (found) => escapes.get(found) ?? found);
  return `"${escaped}"`;
}

/** From a capital letter of ASCII to the small one. */
const caseDistance = 0x20;
const letters = 26;

/** The text with the letters of ASCII from the first one on moved to the other case. Nothing interrupts it, so it is quick. */
function changeCase(whole: string, firstLetter: 'a' | 'A', distance: number): string {
  const first = firstLetter.charCodeAt(0);
  const bytes = Buffer.from(whole, 'utf16le');
  const units = new Uint16Array(bytes.buffer, bytes.byteOffset, whole.length);
  for (let at = 0; at < units.length; at++) {
    const unit = units[at] ?? 0;
    if (unit >= first && unit < first + letters) units[at] = unit + distance;
  }
  return bytes.toString('utf16le');
}
