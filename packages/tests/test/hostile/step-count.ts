import { Session } from 'node:inspector';

/**
 * Counts the steps of a computation: how often V8 entered each function and each block of our code and of our parsers,
 * and how many elements built-in functions may have visited. This shows the growth of a cost without a clock.
 * Functions that were compiled before the counter was opened are not counted, so open it before importing them. Not
 * counted either: backtracking in regular expressions, and object spread.
 */
export class StepCounter {
  readonly #session = new Session();
  readonly #counted: RegExp;

  /** `counted` selects the scripts to count by URL. */
  constructor(counted: RegExp) {
    this.#counted = counted;
    this.#session.connect();
    this.#post('Profiler.enable');
    this.#post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  steps(work: () => unknown): number {
    const builtins = new Builtins();
    this.#take(); // resets all counts
    try {
      work();
    } finally {
      builtins.restore();
    }
    return this.#take() + builtins.steps;
  }

  close(): void {
    this.#session.disconnect();
  }

  #take(): number {
    const { result } = this.#post('Profiler.takePreciseCoverage') as { result: readonly ScriptCoverage[] };
    let steps = 0;
    for (const { url, functions } of result) {
      if (!this.#counted.test(url)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) steps += count;
    }
    return steps;
  }

  #post(method: string, parameters: object = {}): unknown {
    let answer: unknown;
    // The session is in-process, so it responds synchronously.
    this.#session.post(method, parameters, (error, result) => {
      if (error) throw error;
      answer = result;
    });
    return answer;
  }
}

interface ScriptCoverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

type Method = (this: unknown, ...given: unknown[]) => unknown;
/** The number of elements that a call may have visited. */
type Cost = (self: unknown, given: readonly unknown[], result: unknown) => number;

const length: Cost = (self) => (self as { length: number }).length;
const resultLength: Cost = (_, __, result) => (result as { length: number } | undefined)?.length ?? 0;
const foundAt: Cost = (self, given, result) =>
  (result as number) < 0 ? (self as string).length - Number(given[1] ?? 0) : (result as number) - Number(given[1] ?? 0);

/** Built-in functions that iterate over their arguments, counted as one step per visited element. */
class Builtins {
  steps = 0;
  readonly #restores: (() => void)[] = [];

  constructor() {
    for (const name of ['includes', 'indexOf', 'lastIndexOf', 'join', 'reverse', 'toReversed', 'fill'])
      this.#count(Array.prototype, name, length);
    for (const name of ['slice', 'concat', 'splice', 'flat']) this.#count(Array.prototype, name, resultLength);
    for (const name of ['shift', 'unshift']) this.#count(Array.prototype, name, length);
    this.#count(Array.prototype, Symbol.iterator, length);
    this.#count(Map.prototype, Symbol.iterator, (self) => (self as ReadonlyMap<unknown, unknown>).size);
    this.#count(Set.prototype, Symbol.iterator, (self) => (self as ReadonlySet<unknown>).size);
    this.#count(String.prototype, 'indexOf', foundAt);
    for (const name of ['split', 'replaceAll', 'replace', 'includes', 'trim', 'toLowerCase', 'toWellFormed'])
      this.#count(String.prototype, name, length);
    for (const name of ['keys', 'entries', 'values']) this.#count(Object, name, resultLength);
    this.#count(JSON, 'parse', (_, [text]) => (text as string).length);
    this.#count(JSON, 'stringify', resultLength);
    this.#count(RegExp.prototype, 'exec', (self, [text], result) =>
      (self as RegExp).sticky || (self as RegExp).global
        ? ((result as RegExpExecArray | null)?.[0].length ?? 1)
        : String(text).length,
    );
  }

  restore(): void {
    for (const restore of this.#restores) restore();
  }

  #count(owner: object, name: string | symbol, cost: Cost): void {
    const before = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor;
    const original = before.value as Method;
    const spend = (steps: number): void => {
      this.steps += Math.max(0, steps);
    };
    function counted(this: unknown, ...given: unknown[]): unknown {
      const result = Reflect.apply(original, this, given);
      spend(cost(this, given, result));
      return result;
    }
    Object.defineProperty(owner, name, { ...before, value: counted });
    this.#restores.push(() => Object.defineProperty(owner, name, before));
  }
}
