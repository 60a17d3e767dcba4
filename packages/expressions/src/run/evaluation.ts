import type { Task } from '@cluster-apiserver/base';
import type { Expression } from '../compile.ts';
import type { VariableSet } from '../environment/variables.ts';
import { LazyMap } from '../values/lazy-map.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { Budget, BudgetExceededError, expressionStepsMax } from './budget.ts';
import type { Bindings } from './frame.ts';
import { Interruption, Progress } from './progress.ts';

/**
 * About a second: what the expressions of one policy, or of all policies that one request meets, may cost together. The
 * one that goes beyond ends the evaluation, and so does every later one.
 */
export const requestStepsMax = 10 * expressionStepsMax;

/** At most two milliseconds, so that the event loop is not blocked. */
const turnStepsMax = 5_000;

/**
 * How deep expressions may be, together with the variables that they read through one another: each level takes a few
 * frames of a stack that has some thousands.
 */
const depthMax = 1_000;
/** Additional cost of reading a variable. */
const variableDepth = 4;

/**
 * Expressions over the same values. Variables are evaluated when one is read, and once. Where nothing waits, evaluating
 * is one synchronous call; what takes longer than a turn or asks an authorizer that answers later is interrupted, and
 * begins again with what it has kept. They are evaluated one after the other.
 */
export class Evaluation {
  readonly #values: Bindings;
  readonly #variables: VariableSet | undefined;
  readonly #bindings: Bindings;
  readonly #total: Budget;
  /** Results of the variables that were read, or the progress of their evaluation. */
  readonly #read = new Map<string, Run>();
  /** Of the expression that is evaluated now. */
  #budget: Budget | undefined;
  #depth = 0;
  readonly #turnSteps: number;
  #turnLeft: number;

  /** The total is for several evaluations together, if it is given. After `turnSteps` others have a turn. */
  constructor(
    values: Bindings,
    variables?: VariableSet,
    total: Budget = new Budget(requestStepsMax),
    turnSteps: number = turnStepsMax,
  ) {
    this.#values = values;
    this.#variables = variables;
    this.#total = total;
    this.#turnSteps = turnSteps;
    this.#turnLeft = turnSteps;
    const lazy = variables && new LazyMap(variables.names, (name) => this.#readVariable(name));
    this.#bindings = { get: (name) => (name === 'variables' && lazy ? lazy : this.#values.get(name)) };
  }

  /**
   * Throws `EvaluationError` when the expression has no value, also because it costs too much, and `BudgetExceededError`
   * when all together do.
   */
  *evaluate(expression: Expression): Task<Value> {
    const run = new Run(expression);
    for (;;) {
      try {
        return this.#proceed(run);
      } catch (error) {
        if (!(error instanceof Interruption)) throw error;
        yield error.until;
        this.#turnLeft = this.#turnSteps;
      }
    }
  }

  #proceed(run: Run): Value {
    const outer = this.#budget;
    const turnLeft = outer ? outer.left - outer.pauseBelow : this.#turnLeft;
    const budget = new Budget(expressionStepsMax, this.#turnSteps, turnLeft);
    const depth = run.expression.depth + variableDepth;
    this.#budget = budget;
    this.#depth += depth;
    try {
      const { expression, progress } = run;
      const value = expression.plan({ variables: this.#bindings, locals: [], budget, progress });
      this.#spend(budget);
      return value;
    } catch (error) {
      if (error instanceof Interruption) run.progress.wasInterrupted = true;
      else if (error instanceof EvaluationError || isSpent(budget)) this.#spend(budget);
      throw error instanceof BudgetExceededError && isSpent(budget)
        ? new EvaluationError(error.message, { cause: error })
        : error;
    } finally {
      this.#budget = outer;
      this.#depth -= depth;
      const left = budget.left - budget.pauseBelow;
      if (outer) outer.pauseBelow = outer.left - left;
      else this.#turnLeft = left;
    }
  }

  #spend(budget: Budget): void {
    this.#total.left -= expressionStepsMax - budget.left;
    if (isSpent(this.#total))
      throw new BudgetExceededError(
        'validation failed due to running out of cost budget, no further validation rules will be run',
      );
  }

  #readVariable(name: string): Value | undefined {
    const expression = this.#variables?.expressionOf(name);
    if (!expression) return undefined;
    const known = this.#read.get(name);
    if (known?.outcome) return known.outcome();
    if (known?.isRunning) throw new EvaluationError(`variable "${name}" reads itself`);
    if (this.#depth + expression.depth > depthMax) throw new EvaluationError('variables read one another too deep');
    const run = known ?? new Run(expression);
    this.#read.set(name, run);
    run.isRunning = true;
    try {
      const value = this.#proceed(run);
      run.outcome = () => value;
      return value;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      const failed = new EvaluationError(`composited variable "${name}" fails to evaluate: ${error.message}`, {
        cause: error,
      });
      run.outcome = () => {
        throw failed;
      };
      throw failed;
    } finally {
      run.isRunning = false;
    }
  }
}

const isSpent = (budget: Budget): boolean => budget.left < 0;

class Run {
  readonly expression: Expression;
  readonly progress = new Progress();
  isRunning = false;
  outcome: (() => Value) | undefined;

  constructor(expression: Expression) {
    this.expression = expression;
  }
}
