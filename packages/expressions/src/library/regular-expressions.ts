import { BoundedCache, bytesOfText, errorMessage, keepText } from '@cluster-apiserver/base';
import { RE2JS } from 're2js';
import type { Pattern } from '@cluster-apiserver/model/schema';
import { type Budget, BudgetExceededError } from '../run/budget.ts';
import type { Fault } from '../syntax/fault.ts';
import type { Node } from '../syntax/node.ts';
import { EvaluationError } from '../values/value.ts';
import { defineFunction, defineMethod, type Overload } from './overload.ts';

/**
 * Regular expressions of RE2: their time grows with the text and not with its powers. JavaScript's own would let 30
 * characters of a claim hold up the server for minutes.
 */
export const regularExpressions: readonly Overload[] = [
  ...[
    defineFunction('matches(string, string) -> bool', matches),
    defineMethod('string', 'matches(string) -> bool', matches),
  ],
  defineMethod(
    'string',
    'find(string) -> string',
    (text: string, pattern: string, budget: Budget) => found(text, pattern, budget, 1)[0] ?? '',
  ),
  defineMethod('string', 'findAll(string) -> list(string)', (text: string, pattern: string, budget: Budget) =>
    found(text, pattern, budget),
  ),
  defineMethod(
    'string',
    'findAll(string, int) -> list(string)',
    (text: string, pattern: string, limit: bigint, budget: Budget) =>
      found(text, pattern, budget, limit < 0n ? undefined : Number(limit)),
  ),
];

/** Each takes about 16 µs to compile, and an expression is checked in one event-loop iteration. */
const unicodeClassesMax = 500;

/** How many classes such as `\pL` a pattern has, or a few more; in the time that they take. */
const countUnicodeClasses = (pattern: string): number =>
  (pattern.match(/\\[pP]/g)?.length ?? 0) + classesPerFoldedRange * countFoldedRanges(pattern);

/** Every character of a range is looked at for others that differ in case only, which takes up to two milliseconds. */
const classesPerFoldedRange = 100;
const countFoldedRanges = (pattern: string): number =>
  /\(\?[a-zA-Z]*i/.test(pattern) ? (pattern.match(/-(?:\\x|[^\0-\x7f])/g)?.length ?? 0) : 0;

/** Checks the literal patterns of one expression. */
export class PatternCheck {
  #unicodeClasses = 0;

  /** Reports an invalid pattern. Of `matches`, cel-go names the argument only. */
  findFault(pattern: Node, isOfMatches: boolean): Fault[] {
    if (pattern.kind !== 'literal' || typeof pattern.value !== 'string') return [];
    this.#unicodeClasses += countUnicodeClasses(pattern.value);
    return this.#unicodeClasses > unicodeClassesMax
      ? [{ at: pattern.at, message: `the expression has more than ${unicodeClassesMax} Unicode classes in patterns` }]
      : findSyntaxFault({ at: pattern.at, pattern: pattern.value }, isOfMatches);
  }
}

function findSyntaxFault(
  { at, pattern }: { readonly at: number; readonly pattern: string },
  isOfMatches: boolean,
): Fault[] {
  try {
    compilePattern(pattern);
    return [];
  } catch (error) {
    const message = isOfMatches ? 'invalid matches argument' : `invalid regular expression: ${errorMessage(error)}`;
    return [{ at, message }];
  }
}

/** Maximum size of a compiled pattern: nested repetitions compile to long programs. */
const patternLengthMax = 1000;
const programLengthMax = 10_000;

/** Cached patterns. Most are literals, so there are few; computed ones evict each other. */
const patternsMax = 256;
/** Usual patterns take some kilobytes, the largest three megabytes. */
const patternBytesMax = 16 * 1024 * 1024;
/** An instruction takes about 100 bytes, and 300 if it is a Unicode class; measured. */
const instructionBytes = 300;

const known = new BoundedCache<RE2JS>({
  entriesMax: patternsMax,
  bytesMax: patternBytesMax,
  bytesOf: (pattern, program) => bytesOfText(pattern) + instructionBytes * program.programSize(),
});

function compilePattern(pattern: string): RE2JS {
  const before = known.get(pattern);
  if (before) return before;
  if (pattern.length > patternLengthMax) throw new Error(`it has more than ${patternLengthMax} characters`);
  requireFewClasses(pattern);
  const kept = keepText(pattern);
  const program = RE2JS.compile(kept);
  if (program.programSize() > programLengthMax) throw new Error('it repeats too much');
  known.set(kept, program);
  return program;
}

function requireFewClasses(pattern: string): void {
  if (countUnicodeClasses(pattern) > unicodeClassesMax)
    throw new Error(`it has more than ${unicodeClassesMax} Unicode classes`);
}

/** What compiling one costs, in steps of the budget. */
const stepsOfUnicodeClass = 32;

/** A pattern that lives as long as the schema it belongs to. Throws an Error that says what is wrong with it. */
export function compileSchemaPattern(source: string): Pattern {
  if (source.length > schemaPatternLengthMax) throw new Error(`it has more than ${schemaPatternLengthMax} characters`);
  requireFewClasses(source);
  const program = RE2JS.compile(keepText(source));
  const size = program.programSize();
  if (size > programLengthMax) throw new Error('it repeats too much');
  return {
    source,
    size,
    matches: (text) => (costOf(program, text.length) > callStepsMax ? undefined : program.matcher(text).find()),
  };
}

/** Those of official definitions have some hundred characters. */
const schemaPatternLengthMax = 10_000;

function preparePattern(text: string, pattern: string, budget: Budget): RE2JS {
  if (!known.get(pattern)) budget.charge(patternLengthMax + stepsOfUnicodeClass * countUnicodeClasses(pattern));
  try {
    const program = compilePattern(pattern);
    const cost = costOf(program, text.length);
    budget.charge(cost);
    requireOneTurn(cost);
    return program;
  } catch (error) {
    if (error instanceof BudgetExceededError || error instanceof EvaluationError) throw error;
    // The message must not quote the pattern: it may contain a claim.
    throw new EvaluationError('invalid regular expression');
  }
}

/** A step of the program for each character, at worst. */
const costOf = (program: RE2JS, length: number): number => (length * program.programSize()) / 8;

/**
 * A search cannot be interrupted: others would wait for it. The slowest patterns take 20 ns for each character and
 * instruction of their program, so this is eight milliseconds.
 */
const callStepsMax = 50_000;

function requireOneTurn(steps: number): void {
  if (steps <= callStepsMax) return;
  const cause = new BudgetExceededError();
  throw new EvaluationError(cause.message, { cause });
}

function matches(text: string, pattern: string, budget: Budget): boolean {
  return preparePattern(text, pattern, budget).matcher(text).find();
}

function found(text: string, pattern: string, budget: Budget, limit = Number.POSITIVE_INFINITY): string[] {
  const program = preparePattern(text, pattern, budget);
  const matcher = program.matcher(text);
  const all: string[] = [];
  let end = -1;
  let searched = costOf(program, text.length);
  while (all.length < limit && matcher.find()) {
    // Each search starts after the last match, and may read to the end of the text.
    const next = costOf(program, text.length - matcher.end());
    budget.charge(2 + 2 * next);
    searched += next;
    requireOneTurn(searched);
    // Nothing is found right behind a find.
    if (matcher.end() > matcher.start() || matcher.start() !== end) all.push(matcher.group() ?? '');
    end = matcher.end();
  }
  return all;
}
