import { invariant, unreachable } from '@cluster-apiserver/base';
import { type Locals, withLocal } from '../check/names.ts';
import { types } from '../check/type.ts';
import { sortUnits } from '../cost/call-units.ts';
import { sortByKeys } from '../library/lists.ts';
import type { Fold, Node } from '../syntax/node.ts';
import { EntryMap } from '../values/entry-map.ts';
import { EvaluationError, MapValue, type Value } from '../values/value.ts';
import type { Budget } from './budget.ts';
import { type Frame, type Plan, type Slots, truth } from './frame.ts';
import { Interruption, type SlotResult } from './progress.ts';
import { createWalk, type Walk } from './walk.ts';

/**
 * The macros that walk over a list or a map. Each round is charged, so loops in loops end with the budget, and a walk
 * can be interrupted between and within rounds: it keeps where it is, and goes on there.
 */
export function planFold(
  node: Fold,
  locals: Locals | undefined,
  slots: Slots,
  plan: (node: Node, locals: Locals | undefined) => Plan,
): Plan {
  const [one, two] = node.variables;
  const first = withLocal(locals, one, types.dyn);
  const second = two === undefined ? undefined : withLocal(first, two, types.dyn);
  const range = plan(node.range, locals);
  const slot = slots.take();
  const predicate = node.predicate && plan(node.predicate, second ?? first);
  const result = node.result && plan(node.result, second ?? first);
  const innerEnd = slots.next;
  const units = loopUnits[node.form];
  const loop = loopOf(node, {
    counts: (frame) => {
      const holds = !predicate || truth(predicate(frame));
      frame.budget.charge(0, holds ? units.taken : units.dropped);
      return holds;
    },
    result: result ?? (() => null),
  });

  function walkOn(walk: Walk, frame: Frame): Value {
    const { budget, progress } = frame;
    for (; walk.at < walk.elements.length; walk.at++) {
      walk.left = budget.left;
      walk.unitsLeft = budget.unitsLeft;
      if (budget.isTurnOver) throw new Interruption();
      budget.charge(1, units.round);
      const element = walk.elements[walk.at];
      invariant(element !== undefined, 'a walk has an element in each of its rounds');
      frame.locals[first.slot] = second ? keyOf(walk) : element;
      if (second) frame.locals[second.slot] = element;
      const isDone = loop.round(frame, walk, element);
      if (innerEnd > slot + 1) progress.forgetBetween(slot + 1, innerEnd);
      if (isDone) {
        // The condition of a next round is what ends it.
        if (walk.at + 1 < walk.elements.length) budget.charge(0, units.stop);
        break;
      }
    }
    budget.charge(0, units.end);
    return loop.end(walk, budget);
  }

  return (frame) => {
    const { budget, progress } = frame;
    const kept = progress.get(slot);
    if (kept?.kind === 'value' || kept?.kind === 'error') return resultOf(kept, budget);
    const walk = kept?.kind === 'walk' ? kept : createWalk(range(frame), second !== undefined);
    if (kept) budget.goOnAt(kept);
    else budget.charge(0, units.start);
    try {
      const value = walkOn(walk, frame);
      if (progress.wasInterrupted)
        progress.set(slot, { kind: 'value', value, left: budget.left, unitsLeft: budget.unitsLeft });
      return value;
    } catch (error) {
      if (error instanceof Interruption) progress.set(slot, walk);
      else if (progress.wasInterrupted)
        progress.set(slot, { kind: 'error', error, left: budget.left, unitsLeft: budget.unitsLeft });
      throw error;
    }
  };
}

/**
 * What the accumulator of a loop costs in kube-apiserver's units, where a macro is a loop: to make it, in each round, in a
 * round that takes an element or drops it, when a round is the last one of a loop, and at the end.
 */
interface LoopUnits {
  readonly start: number;
  readonly round: number;
  readonly taken: number;
  readonly dropped: number;
  readonly stop: number;
  readonly end: number;
}

const collected: LoopUnits = { start: 0, round: 0, taken: 12, dropped: 0, stop: 0, end: 1 };
const loopUnits: Readonly<Record<Fold['form'], LoopUnits>> = {
  all: { start: 0, round: 3, taken: 0, dropped: 0, stop: 2, end: 1 },
  exists: { start: 0, round: 4, taken: 0, dropped: 0, stop: 3, end: 1 },
  existsOne: { start: 0, round: 0, taken: 2, dropped: 0, stop: 0, end: 2 },
  filter: { ...collected, taken: 13 },
  map: collected,
  sortBy: { ...collected, start: 2, round: 12 },
  transformMap: { ...collected, taken: 3 },
  transformMapEntry: { ...collected, taken: 2 },
};

function resultOf(outcome: SlotResult, budget: Budget): Value {
  budget.restore(outcome);
  if (outcome.kind === 'error') throw outcome.error;
  return outcome.value;
}

interface Loop {
  /** Whether it was the last one. What it adds to the walk it adds at its end: before that it may be interrupted. */
  readonly round: (frame: Frame, walk: Walk, element: Value) => boolean;
  readonly end: (walk: Walk, budget: Budget) => Value;
}

interface Body {
  readonly counts: (frame: Frame) => boolean;
  readonly result: (frame: Frame) => Value;
}

function loopOf(node: Fold, { counts, result }: Body): Loop {
  switch (node.form) {
    case 'all':
    case 'exists':
      return quantifier(node.form === 'exists', counts);
    case 'existsOne':
      return collector(
        (frame, { made }) => counts(frame) && made.push(true),
        ({ made }) => made.length === 1,
      );
    case 'filter':
      return collector((frame, { made }, element) => counts(frame) && made.push(element));
    case 'map':
      return collector((frame, { made }) => counts(frame) && made.push(result(frame)));
    case 'sortBy':
      return collector(
        (frame, { entries }, element) => entries.push([result(frame), element]),
        ({ entries }, budget) => {
          if (budget.countsUnits) budget.charge(0, sortUnits(entries.map(([key]) => key)));
          return sortByKeys(entries, budget);
        },
      );
    case 'transformMap':
      return collector(
        (frame, walk) => counts(frame) && walk.entries.push([keyOf(walk), result(frame)]),
        ({ entries }) => new EntryMap(entries),
      );
    case 'transformMapEntry':
      return collector(
        (frame, walk) => counts(frame) && walk.entries.push(...getEntries(result(frame))),
        ({ entries }) => new EntryMap(entries),
      );
    default:
      return unreachable(node.form);
  }
}

/** Takes from every element; a list of what was made unless something else follows from it. */
function collector(
  take: (frame: Frame, walk: Walk, element: Value) => unknown,
  end: Loop['end'] = ({ made }) => made,
): Loop {
  return {
    end,
    round: (frame, walk, element) => {
      take(frame, walk, element);
      return false;
    },
  };
}

/** As with `||` and `&&`, one deciding element outweighs errors of others. */
function quantifier(deciding: boolean, holds: Body['counts']): Loop {
  return {
    round: (frame, walk) => {
      try {
        walk.decided = holds(frame) === deciding;
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error;
        walk.failed ??= error;
      }
      return walk.decided;
    },
    end: ({ decided, failed }) => {
      if (!decided && failed) throw failed;
      return decided === deciding;
    },
  };
}

const keyOf = ({ keys, at }: Walk): Value => keys?.[at] ?? BigInt(at);

function getEntries(value: Value): Iterable<readonly [Value, Value]> {
  if (value instanceof MapValue) return value.entries();
  throw new EvaluationError('no such overload');
}
