import { invariant, unreachable } from '@cluster-apiserver/base';
import type { OverloadsOf } from '../check/check.ts';
import { type Declarations, type Locals, resolveReference, withLocal } from '../check/names.ts';
import { jsonPatchType } from '../environment/patch-types.ts';
import { types } from '../check/type.ts';
import { callUnits } from '../cost/call-units.ts';
import { accessUnits, isAccess, isConstant } from '../cost/node-units.ts';
import { accepts, call } from '../library/overload.ts';
import type { Node } from '../syntax/node.ts';
import { ConstructedObject, JsonPatchOperation } from '../values/constructed.ts';
import { EntryMap } from '../values/entry-map.ts';
import { EvaluationError, Optional, type Value } from '../values/value.ts';
import { chargeFailure } from './budget.ts';
import { planEquality } from './equality.ts';
import { planFold } from './fold.ts';
import { type Plan, type Slots, truth } from './frame.ts';
import { planIndex, planOptionalIndex, planSelect } from './members.ts';
import { createNoOverloadError } from './no-overload.ts';
import { Interruption } from './progress.ts';

/** Static information about an expression, for planning. */
export interface PlanContext extends Declarations {
  readonly slots: Slots;
  /** Without it, all functions of the right name are tried on the values. */
  readonly overloadsOf?: OverloadsOf;
  /** Whether errors may name keys that the expression has computed. */
  readonly showsValues?: boolean;
}

export function plan(node: Node, declared: PlanContext, locals?: Locals): Plan {
  const run = planForm(node, declared, locals);
  const units = resolveReference(node, declared, locals)?.kind === 'type' ? 0 : accessUnits(node);
  if (node.kind !== 'literal' && isConstant(node, declared.library)) return planConstant(run);
  return (frame) => {
    frame.budget.charge(1, units);
    return run(frame);
  };
}

/** Kube-apiserver evaluates a constant when it compiles the expression. */
function planConstant(run: Plan): Plan {
  return (frame) => {
    const { budget } = frame;
    const { unitsLeft } = budget;
    budget.charge(1);
    const value = run(frame);
    budget.unitsLeft = unitsLeft;
    return value;
  };
}

function planForm(node: Node, declared: PlanContext, locals: Locals | undefined): Plan {
  const inner = (child: Node): Plan => plan(child, declared, locals);
  switch (node.kind) {
    case 'literal': {
      const { value } = node;
      return () => value;
    }
    case 'name':
      return planReference(node, declared, locals) ?? planFailure(`undeclared reference to '${node.name}'`);
    case 'select':
      return planReference(node, declared, locals) ?? planSelect(inner(node.operand), node.field, node.mode);
    case 'call':
      return planCall(node, inner, declared);
    case 'logic':
      return planLogic(node.operator === '||', node.operands.map(inner));
    case 'conditional': {
      const condition = inner(node.condition);
      const [yes, no] = [planBranch(node.yes, inner), planBranch(node.no, inner)];
      return (frame) => (truth(condition(frame)) ? yes(frame) : no(frame));
    }
    case 'list':
      return planList(node.elements.map(({ value, optional }) => ({ optional, value: inner(value) })));
    case 'map':
      return planMap(
        node.entries.map(({ key, value, optional }) => ({ optional, key: inner(key), value: inner(value) })),
      );
    case 'message':
      return planMessage(node, declared, inner);
    case 'fold':
      return planFold(node, locals, declared.slots, (child, at) => plan(child, declared, at));
    case 'optional map': {
      const local = withLocal(locals, node.variable, types.dyn);
      const [target, body] = [inner(node.target), plan(node.body, declared, local)];
      return (frame) => {
        const { budget } = frame;
        const before = budget.unitsLeft;
        const optional = asOptional(target(frame));
        const isPresent = optional.value !== undefined;
        // In units it is a conditional that evaluates the target twice.
        if (budget.countsUnits) budget.charge(0, isPresent ? before - budget.unitsLeft + (node.flat ? 2 : 3) : 2);
        if (optional.value === undefined) return optional;
        frame.locals[local.slot] = optional.value;
        return node.flat ? body(frame) : new Optional(body(frame));
      };
    }
    default:
      return unreachable(node);
  }
}

/** A name or a field that is chosen costs one unit less. */
function planBranch(node: Node, inner: (child: Node) => Plan): Plan {
  const run = inner(node);
  if (!isAccess(node)) return run;
  return (frame) => {
    frame.budget.charge(0, -1);
    return run(frame);
  };
}

function planReference(node: Node, declared: Declarations, locals: Locals | undefined): Plan | undefined {
  const found = resolveReference(node, declared, locals);
  if (!found) return undefined;
  switch (found.kind) {
    case 'local': {
      const { slot } = found.local;
      return ({ locals: values }) => {
        const value = values[slot];
        invariant(value !== undefined, 'a macro sets its variables before its body runs');
        return value;
      };
    }
    case 'variable':
      return ({ variables }) => {
        const value = variables.get(found.name);
        if (value === undefined) throw new EvaluationError(`no such attribute: ${found.name}`);
        return value;
      };
    case 'type':
      return () => found.value;
    default:
      return unreachable(found);
  }
}

function planCall(node: Node & { kind: 'call' }, inner: (child: Node) => Plan, context: PlanContext): Plan {
  const { library } = context;
  const { name, method, args } = library.functionCalled(node);
  const plans = args.map(inner);
  const [left, right] = plans;
  if (left && right && plans.length === 2)
    switch (name) {
      case '_==_':
      case '_!=_':
        return planEquality(context.slots.take(), left, right, name === '_==_');
      case '_[_]':
        return planIndex(left, right, context.showsValues === true || node.args[1]?.kind === 'literal');
      case '_[?_]':
        return planOptionalIndex(left, right);
      case 'or':
      case 'orValue':
        if (method) return planOr(left, right, name);
        break;
      default:
    }
  const units = callUnits(name, node.args);
  const overloads = (context.overloadsOf?.(node) ?? library.overloadsNamed(name)).filter(
    (overload) => overload.isMethod === method && overload.takes.length === args.length,
  );
  return cacheIfCostly(context.slots.take(), (frame) => {
    const values = chargeFailure(frame.budget, () => plans.map((value) => value(frame)));
    for (const value of values) frame.budget.charge(sizeOf(value));
    const overload = overloads.find((candidate) => accepts(candidate, values));
    if (!overload) throw createNoOverloadError(name, values);
    const { budget } = frame;
    if (!budget.countsUnits) return call(overload, values, budget);
    const result = chargeFailure(budget, () => budget.call(() => call(overload, values, budget)));
    budget.charge(0, units(values, result));
    return result;
  });
}

/** Cost from which on the result of a call is kept when the evaluation restarts after an interruption. */
const costlySteps = 32;

function cacheIfCostly(slot: number, run: Plan): Plan {
  return (frame) => {
    const { budget, progress } = frame;
    const kept = progress.get(slot);
    if (kept?.kind === 'value') {
      budget.restore(kept);
      return kept.value;
    }
    const before = budget.left;
    const value = run(frame);
    if (before - budget.left >= costlySteps) {
      progress.set(slot, { kind: 'value', value, left: budget.left, unitsLeft: budget.unitsLeft });
      if (budget.isTurnOver) throw new Interruption();
    }
    return value;
  };
}

/** `a.or(b)` and `a.orValue(b)`, where the second is not evaluated if the first has a value. */
function planOr(left: Plan, right: Plan, name: 'or' | 'orValue'): Plan {
  return (frame) => {
    const optional = left(frame);
    if (!(optional instanceof Optional)) throw createNoOverloadError(name, [optional, right(frame)]);
    if (optional.value !== undefined) return name === 'or' ? optional : optional.value;
    const other = right(frame);
    if (name === 'or' && !(other instanceof Optional)) throw createNoOverloadError(name, [optional, other]);
    return other;
  };
}

function planMessage(
  { name, fields }: Node & { kind: 'message' },
  { constructible }: Declarations,
  inner: (child: Node) => Plan,
): Plan {
  const plain = name.replace(/^\./, '');
  if (!constructible?.(plain)) return planFailure(`undeclared reference to '${name}'`);
  const planned = fields.map((field) => ({ ...field, value: inner(field.value) }));
  return (frame) => {
    const given = new Map<string, Value>();
    for (const { name: field, optional, value } of planned) {
      const held = value(frame);
      const present = optional ? asOptional(held).value : held;
      if (present !== undefined) given.set(field, present);
    }
    return plain === jsonPatchType.name ? new JsonPatchOperation(given) : new ConstructedObject(plain, given);
  };
}

/** Texts are walked over quickly, and still they are walked over. */
const sizeOf = (value: Value): number =>
  typeof value === 'string' || value instanceof Uint8Array ? Math.floor(value.length / 16) : 0;

/** One operand that decides is enough, whatever is wrong with others and whatever their order. */
function planLogic(deciding: boolean, operands: readonly Plan[]): Plan {
  return (frame) => {
    let failed: EvaluationError | undefined;
    for (const operand of operands) {
      try {
        if (truth(operand(frame)) === deciding) return deciding;
      } catch (error) {
        if (!(error instanceof EvaluationError)) throw error;
        failed ??= error;
      }
    }
    if (failed) throw failed;
    return !deciding;
  };
}

function planList(elements: readonly { optional: boolean; value: Plan }[]): Plan {
  return (frame) =>
    elements.flatMap(({ optional, value }) => {
      const element = value(frame);
      if (!optional) return [element];
      const { value: present } = asOptional(element);
      return present === undefined ? [] : [present];
    });
}

function planMap(entries: readonly { optional: boolean; key: Plan; value: Plan }[]): Plan {
  return (frame) =>
    new EntryMap(
      entries.flatMap(({ optional, key, value }): (readonly [Value, Value])[] => {
        const entry = [key(frame), value(frame)] as const;
        if (!optional) return [entry];
        const { value: present } = asOptional(entry[1]);
        return present === undefined ? [] : [[entry[0], present]];
      }),
    );
}

const planFailure =
  (message: string): Plan =>
  () => {
    throw new EvaluationError(message);
  };

function asOptional(value: Value): Optional {
  if (!(value instanceof Optional)) throw new EvaluationError('no such overload');
  return value;
}
