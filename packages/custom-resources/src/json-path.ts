import { getOwn } from '@cluster-apiserver/base';
import { compareNumbers, type Integer, isJsonObject, isRawNumber } from '@cluster-apiserver/model/json';

/**
 * The JSONPath of printer columns, as kubectl reads it: fields, indices, slices, wildcards, unions, filters with one comparison,
 * and descent. Evaluation visits a bounded number of values, so a path takes no more time than a table can spend on a cell.
 */
export interface JsonPath {
  /** The first value at the path; undefined if there is none. */
  first(value: unknown): unknown;
}

export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

/** Finds the values of a step, in order, below one value. */
type Step = (value: unknown, budget: Budget) => Iterable<unknown>;

/** Values that an evaluation may visit. Beyond, it has no result. */
const visitsMax = 10_000;

/** Paths of known definitions have some dozens. A path is read at once, and its parts may contain one another. */
export const pathCharactersMax = 1_000;

class Budget {
  #left: number;

  constructor(visits: number) {
    this.#left = visits;
  }

  spend(): boolean {
    return this.#left-- > 0;
  }

  /** Nothing more is visited: a path of which a part cannot be evaluated has no result. */
  end(): void {
    this.#left = 0;
  }
}

/** Throws a JsonPathError for a text that is no path. `visits`: if it is less than an evaluation may visit otherwise. */
export function parseJsonPath(text: string, visits = visitsMax): JsonPath {
  if (text.length > pathCharactersMax)
    throw new JsonPathError(`the path has more than ${pathCharactersMax} characters`);
  const steps = new PathParser(text).steps();
  return {
    first: (value) => {
      for (const found of follow(steps, 0, value, new Budget(Math.min(visits, visitsMax)))) return found;
      return undefined;
    },
  };
}

/** Undefined for a text that is no path. */
export function findJsonPath(text: string, visits?: number): JsonPath | undefined {
  try {
    return parseJsonPath(text, visits);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

function* follow(steps: readonly Step[], index: number, value: unknown, budget: Budget): Generator<unknown, void> {
  const step = steps[index];
  if (!step) yield value;
  else for (const next of step(value, budget)) if (budget.spend()) yield* follow(steps, index + 1, next, budget);
}

function* membersOf(value: unknown): Iterable<unknown> {
  if (Array.isArray(value)) yield* value;
  // Go's maps have no order; by name is one.
  else if (isJsonObject(value)) for (const name of Object.keys(value).sort()) yield value[name];
}

const fieldStep =
  (name: string): Step =>
  (value) => {
    const member = isJsonObject(value) ? getOwn(value, name) : undefined;
    return member === undefined ? [] : [member];
  };

const indexStep =
  (index: number): Step =>
  (value) => {
    if (!Array.isArray(value)) return [];
    const at = index < 0 ? value.length + index : index;
    return at in value ? [value[at]] : [];
  };

const sliceStep =
  (from: number | undefined, to: number | undefined, by: number): Step =>
  (value) =>
    Array.isArray(value) ? value.slice(from, to).filter((_, index) => index % by === 0) : [];

/** One part after the other, as long as visits are left. */
const unionStep = (steps: readonly Step[]): Step =>
  function* (value, budget) {
    for (const step of steps) yield* step(value, budget);
  };

/** The value itself and all values in it. */
function* descend(value: unknown, budget: Budget): Generator<unknown, void> {
  if (!budget.spend()) return;
  yield value;
  for (const member of membersOf(value)) yield* descend(member, budget);
}

const operators = {
  '==': (order: number) => order === 0,
  '!=': (order: number) => order !== 0,
  '<': (order: number) => order < 0,
  '<=': (order: number) => order <= 0,
  '>': (order: number) => order > 0,
  '>=': (order: number) => order >= 0,
};
type Operator = keyof typeof operators;
type Operand = (value: unknown, budget: Budget) => unknown;

const filterStep =
  (left: Operand, operator: Operator | undefined, right: Operand | undefined): Step =>
  (value, budget) => {
    if (!Array.isArray(value)) return [];
    const found: unknown[] = [];
    for (const entry of value) {
      if (!budget.spend()) break;
      const one = left(entry, budget);
      if (one === undefined) continue;
      const other = operator && right ? right(entry, budget) : undefined;
      const holds = operator && right ? other !== undefined && compare(operator, one, other) : true;
      if (holds === undefined) budget.end();
      else if (holds) found.push(entry);
    }
    return found;
  };

/** Whether the comparison holds. Undefined for values that have no order, or two types: they are only equal or not. */
function compare(operator: Operator, left: unknown, right: unknown): boolean | undefined {
  if (operator !== '==' && operator !== '!=') {
    const type = orderedType(left);
    if (type === undefined || type !== orderedType(right)) return undefined;
  }
  if (typeof left === 'boolean' && typeof right === 'boolean') return operators[operator](Number(left) - Number(right));
  if (isNumber(left) && isNumber(right)) return operators[operator](compareNumbers(left, right));
  if (typeof left !== 'string' || typeof right !== 'string') return false;
  return operators[operator](left < right ? -1 : left > right ? 1 : 0);
}

const isNumber = (value: unknown): value is Integer => typeof value === 'number' || isRawNumber(value);

function orderedType(value: unknown): 'string' | 'integer' | 'number' | undefined {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return isRawNumber(value) ? 'integer' : undefined;
}

/** Reads a path from left to right. */
class PathParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  steps(): readonly Step[] {
    const steps = this.#path();
    if (this.#at < this.#text.length) throw this.#error();
    return steps;
  }

  #path(): Step[] {
    const steps: Step[] = [];
    for (;;) {
      if (this.#take('..')) {
        steps.push(descend);
        if (this.#text[this.#at] !== '[') steps.push(this.#member());
      } else if (this.#take('.')) {
        // A dot before a bracket, or at the end, stands for the value itself.
        const next = this.#text[this.#at];
        if (next !== undefined && next !== '[') steps.push(this.#member());
      } else if (this.#take('[')) steps.push(this.#bracket());
      else return steps;
    }
  }

  #member(): Step {
    if (this.#take('*')) return (value) => membersOf(value);
    const [raw = ''] = /^(?:\\.|[^.[\]\\\s'"()@?=<>!,{}])+/.exec(this.#text.slice(this.#at)) ?? [];
    if (raw === '') throw this.#error();
    this.#at += raw.length;
    return fieldStep(raw.replaceAll(/\\(.)/g, '$1'));
  }

  #bracket(): Step {
    if (this.#take('?(')) return this.#filter();
    if (this.#take('*]')) return (value) => membersOf(value);
    const parts: Step[] = [];
    do {
      this.#skipSpaces();
      parts.push(this.#bracketPart());
      this.#skipSpaces();
    } while (this.#take(','));
    if (!this.#take(']')) throw this.#error();
    return parts.length === 1 && parts[0] ? parts[0] : unionStep(parts);
  }

  #bracketPart(): Step {
    const [whole = '', name = ''] = /^'([^']*)'/.exec(this.#text.slice(this.#at)) ?? [];
    if (whole !== '') {
      this.#at += whole.length;
      // As in kubectl, a name in quotes is a path: its dots are escaped.
      const steps = new PathParser(`.${name}`).steps();
      return (value, budget) => follow(steps, 0, value, budget);
    }
    const [text = '', from, colon, to, by] = /^(-?\d+)?(:(-?\d+)?(?::(\d+))?)?/.exec(this.#text.slice(this.#at)) ?? [];
    if (text === '') throw this.#error();
    this.#at += text.length;
    if (colon === undefined) return indexStep(Number(from));
    return sliceStep(numberIn(from), numberIn(to), Math.max(1, numberIn(by) ?? 1));
  }

  #filter(): Step {
    this.#skipSpaces();
    const left = this.#operand();
    this.#skipSpaces();
    const [operator] = /^(?:==|!=|<=|>=|<|>)/.exec(this.#text.slice(this.#at)) ?? [];
    let right: Operand | undefined;
    if (operator !== undefined) {
      this.#at += operator.length;
      this.#skipSpaces();
      right = this.#operand();
      this.#skipSpaces();
    }
    if (!this.#take(')]')) throw this.#error();
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the pattern matches exactly the operators
    return filterStep(left, operator as Operator | undefined, right);
  }

  #operand(): Operand {
    const quoted = this.#quoted();
    if (quoted !== undefined) return () => quoted;
    if (this.#take('@')) {
      const steps = this.#path();
      return (value, budget) => {
        for (const found of follow(steps, 0, value, budget)) return found;
        return undefined;
      };
    }
    const [word = ''] = /^(?:true|false|-?\d+(?:\.\d+)?)/.exec(this.#text.slice(this.#at)) ?? [];
    if (word === '') throw this.#error();
    this.#at += word.length;
    const constant = word === 'true' ? true : word === 'false' ? false : Number(word);
    return () => constant;
  }

  #quoted(): string | undefined {
    const [whole = '', single, double] =
      /^(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")/.exec(this.#text.slice(this.#at)) ?? [];
    if (whole === '') return undefined;
    this.#at += whole.length;
    return (single ?? double ?? '').replaceAll(/\\(.)/g, '$1');
  }

  #take(text: string): boolean {
    const isNext = this.#text.startsWith(text, this.#at);
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #skipSpaces(): void {
    while (this.#text[this.#at] === ' ') this.#at++;
  }

  #error(): JsonPathError {
    return new JsonPathError(`the path cannot be read from position ${this.#at + 1} on`);
  }
}

const numberIn = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text));
