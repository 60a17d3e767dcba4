import { type Locals, withLocal } from '../check/names.ts';
import { types } from '../check/type.ts';
import { sortByKeys } from '../library/lists.ts';
import type { Fold, Node } from '../syntax/node.ts';
import { MapValue } from '../values/map-value.ts';
import { EvaluationError, type Value } from '../values/value.ts';
import { type Frame, type Plan, truth } from './frame.ts';

/** The macros that walk over a list or a map. Each step is charged, so loops in loops end with the budget. */
export function planFold(
  node: Fold,
  locals: Locals | undefined,
  plan: (node: Node, locals: Locals | undefined) => Plan,
): Plan {
  const [one, two] = node.variables;
  const first = withLocal(locals, one, types.dyn);
  const innermost = two === undefined ? first : withLocal(first, two, types.dyn);
  const range = plan(node.range, locals);
  const predicate = node.predicate && plan(node.predicate, innermost);
  const result = node.result && plan(node.result, innermost);

  function* steps(frame: Frame): Generator<Step> {
    const walked = range(frame);
    for (const [key, value] of entriesOf(walked)) {
      frame.budget.charge(1);
      const element = Array.isArray(walked) ? value : key;
      frame.locals[first.slot] = two === undefined ? element : key;
      if (two !== undefined) frame.locals[innermost.slot] = value;
      yield { key, element };
    }
  }
  const counts = (frame: Frame): boolean => !predicate || truth(predicate(frame));

  switch (node.form) {
    case 'all':
    case 'exists':
      return (frame) => quantified(steps(frame), () => counts(frame), node.form === 'exists');
    case 'existsOne':
      return (frame) => {
        let found = 0;
        for (const _ of steps(frame)) if (counts(frame)) found++;
        return found === 1;
      };
    case 'filter':
      return (frame) => collected(steps(frame), ({ element }) => (counts(frame) ? [element] : []));
    case 'map':
      return (frame) => collected(steps(frame), () => (counts(frame) && result ? [result(frame)] : []));
    case 'sortBy':
      return (frame) => {
        const elements: Value[] = [];
        const keys = collected(steps(frame), ({ element }) => {
          elements.push(element);
          return result ? [result(frame)] : [];
        });
        return sortByKeys(elements, keys, frame.budget);
      };
    case 'transformMap':
      return (frame) =>
        new MapValue(
          collected(steps(frame), ({ key }) => (counts(frame) && result ? [[key, result(frame)] as const] : [])),
        );
    case 'transformMapEntry':
      return (frame) =>
        new MapValue(collected(steps(frame), () => (counts(frame) && result ? entriesIn(result(frame)) : [])));
  }
}

interface Step {
  readonly key: Value;
  readonly element: Value;
}

function collected<T>(steps: Iterable<Step>, take: (step: Step) => Iterable<T>): T[] {
  const all: T[] = [];
  for (const step of steps) for (const taken of take(step)) all.push(taken);
  return all;
}

/** As with `||` and `&&`: one element that decides outweighs others that cannot be told. */
function quantified(steps: Iterable<Step>, holds: () => boolean, deciding: boolean): boolean {
  let failed: EvaluationError | undefined;
  for (const _ of steps) {
    try {
      if (holds() === deciding) return deciding;
    } catch (error) {
      if (!(error instanceof EvaluationError)) throw error;
      failed ??= error;
    }
  }
  if (failed) throw failed;
  return !deciding;
}

function* entriesOf(range: Value): Iterable<readonly [Value, Value]> {
  if (range instanceof MapValue) yield* range.entries();
  else if (Array.isArray(range))
    for (const [index, element] of range.entries()) yield [BigInt(index), element as Value];
  else throw new EvaluationError('no such overload: only lists and maps can be walked over');
}

function entriesIn(value: Value): Iterable<readonly [Value, Value]> {
  if (value instanceof MapValue) return value.entries();
  throw new EvaluationError('no such overload: an entry is written as a map');
}
