import type { Budget } from '../run/budget.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { lengthOf, pointAt, pointsOf, unitAt } from './code-points.ts';
import { fn, method, type Overload } from './overload.ts';

const text = (signature: string, run: Overload['run']): Overload => method('string', signature, run);

/**
 * A part is sought by comparing it again and again, at worst its whole length at every place. What happens within is
 * not ours, so the worst is charged.
 */
const search = (signature: string, run: (whole: string, part: string, ...more: never[]) => Value): Overload =>
  text(signature, (whole: string, part: string, ...more: never[]) => {
    const budget: Budget = more.at(-1) as unknown as Budget; // The budget comes last, behind what the signature names.
    budget.charge((whole.length * part.length) / 128);
    return run(whole, part, ...more);
  });

export const strings: readonly Overload[] = [
  search('contains(string) -> bool', (whole: string, part: string) => whole.includes(part)),
  text('startsWith(string) -> bool', (whole: string, part: string) => whole.startsWith(part)),
  text('endsWith(string) -> bool', (whole: string, part: string) => whole.endsWith(part)),

  text('charAt(int) -> string', (whole: string, at: bigint, budget: Budget) => {
    const points = pointsOf(whole, budget);
    return points[within(at, points.length)] ?? '';
  }),
  search('indexOf(string) -> int', (whole: string, part: string) => BigInt(pointAt(whole, whole.indexOf(part)))),
  search('indexOf(string, int) -> int', (whole: string, part: string, from: bigint, budget: Budget) => {
    if (part === '') return from;
    if (from < 0n) throw rangeError();
    if (from >= BigInt(lengthOf(whole, budget))) return -1n;
    return BigInt(pointAt(whole, whole.indexOf(part, unitAt(whole, Number(from)))));
  }),
  search('lastIndexOf(string) -> int', (whole: string, part: string) =>
    BigInt(pointAt(whole, whole.lastIndexOf(part))),
  ),
  search('lastIndexOf(string, int) -> int', (whole: string, part: string, from: bigint, budget: Budget) => {
    if (part === '') return from;
    if (from < 0n) throw rangeError();
    if (from >= BigInt(lengthOf(whole, budget))) return -1n;
    return BigInt(pointAt(whole, whole.lastIndexOf(part, unitAt(whole, Number(from)))));
  }),
  text('lowerAscii() -> string', (whole: string) => withOtherCase(whole, 'A', caseDistance)),
  text('upperAscii() -> string', (whole: string) => withOtherCase(whole, 'a', -caseDistance)),
  search('replace(string, string) -> string', replaced),
  search(
    'replace(string, string, int) -> string',
    (whole: string, from: string, to: string, limit: bigint, budget: Budget) =>
      replaced(whole, from, to, budget, limit),
  ),
  search('split(string) -> list(string)', splitBy),
  search('split(string, int) -> list(string)', (whole: string, by: string, limit: bigint, budget: Budget) =>
    splitBy(whole, by, budget, limit),
  ),
  text('substring(int) -> string', (whole: string, from: bigint, budget: Budget) => cut(whole, budget, from)),
  text('substring(int, int) -> string', (whole: string, from: bigint, to: bigint, budget: Budget) =>
    cut(whole, budget, from, to),
  ),
  text('trim() -> string', trimmed),
  method('list(string)', 'join() -> string', (parts: readonly string[], budget: Budget) => joined(parts, '', budget)),
  method('list(string)', 'join(string) -> string', (parts: readonly string[], by: string, budget: Budget) =>
    joined(parts, by, budget),
  ),
  fn('strings.quote(string) -> string', quoted),
];

/** Not by a regular expression: one that looks for blanks before an end looks again from each of them. */
function trimmed(whole: string): string {
  const blank = (at: number): boolean => /\p{White_Space}/u.test(whole.charAt(at));
  let [from, to] = [0, whole.length];
  while (from < to && blank(from)) from++;
  while (to > from && blank(to - 1)) to--;
  return whole.slice(from, to);
}

const rangeError = (): EvaluationError => new EvaluationError('index out of range');

function within(at: bigint, length: number): number {
  if (at < 0n || at > BigInt(length)) throw rangeError();
  return Number(at);
}

function cut(whole: string, budget: Budget, from: bigint, to?: bigint): string {
  const points = pointsOf(whole, budget);
  const start = within(from, points.length);
  const end = to === undefined ? points.length : within(to, points.length);
  if (start > end) throw new EvaluationError('a substring ends behind its start');
  const part = points.slice(start, end);
  return typeof part === 'string' ? part : part.join('');
}

/** A negative limit is none. */
function replaced(whole: string, from: string, to: string, budget: Budget, limit = -1n): string {
  if (limit === 0n) return whole;
  const parts = splitBy(whole, from, budget, limit < 0n ? -1n : limit + 1n);
  // Between the characters of a text an empty one is found also before the first and behind the last.
  if (from === '') {
    if (limit < 0n || limit > BigInt(parts.length)) parts.push('');
    parts.unshift('');
    if (limit >= 0n && BigInt(parts.length) > limit + 1n)
      parts.splice(Number(limit), Infinity, parts.slice(Number(limit)).join(''));
  }
  budget.charge((parts.length * to.length) >> 4);
  return parts.join(to);
}

/** The last part holds what is left when the limit is reached. */
function splitBy(whole: string, by: string, budget: Budget, limit = -1n): string[] {
  if (limit === 0n) return [];
  budget.charge(by === '' ? whole.length : whole.length / by.length);
  const parts = by === '' ? Array.from(whole) : whole.split(by);
  if (limit < 0n || limit >= BigInt(parts.length)) return parts;
  const last = Number(limit) - 1;
  return [...parts.slice(0, last), parts.slice(last).join(by)];
}

function joined(parts: readonly string[], by: string, budget: Budget): string {
  if (parts.some((part) => typeof part !== 'string')) throw new EvaluationError('no such overload: join(list, string)');
  budget.charge(parts.length + parts.reduce((sum, part) => sum + part.length + by.length, 0) / 16);
  return parts.join(by);
}

const escapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

function quoted(whole: string): string {
  const escaped = whole.toWellFormed().replaceAll(/[\x07\b\f\n\r\t\v\\"]/g, (found) => escapes[found] as string);
  return `"${escaped}"`;
}

/** From a capital letter of ASCII to the small one. */
const caseDistance = 0x20;
const letters = 26;

/** The text with the letters of ASCII from the first one on moved to the other case. Nothing interrupts it, so it is quick. */
function withOtherCase(whole: string, firstLetter: 'a' | 'A', distance: number): string {
  const first = firstLetter.charCodeAt(0);
  const bytes = Buffer.from(whole, 'utf16le');
  const units = new Uint16Array(bytes.buffer, bytes.byteOffset, whole.length);
  for (let at = 0; at < units.length; at++) {
    const unit = units[at] ?? 0;
    if (unit >= first && unit < first + letters) units[at] = unit + distance;
  }
  return bytes.toString('utf16le');
}
