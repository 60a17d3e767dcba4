import { unreachable } from '@cluster-apiserver/base';
import type { Checked } from '../check/check.ts';
import { type Type, types } from '../check/type.ts';
import type { Library } from '../library/index.ts';
import type { Overload } from '../library/overload.ts';
import type { Fold, Node } from '../syntax/node.ts';
import type { Value } from '../values/value.ts';

/**
 * An expression as kube-apiserver estimates it: a macro is a loop with an accumulator, or a conditional, whose parts have
 * costs of their own.
 */
export type CostNode = { readonly type: Type } & (
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'select'; readonly operand: CostNode; readonly field: string; readonly isTest: boolean }
  | CallNode
  | { readonly kind: 'list'; readonly elements: readonly CostNode[] }
  | { readonly kind: 'map'; readonly entries: readonly (readonly [key: CostNode, value: CostNode])[] }
  | LoopNode
  /** `result` with a variable that stands for a value. */
  | { readonly kind: 'bind'; readonly variable: string; readonly value: CostNode; readonly result: CostNode }
);

export interface CallNode {
  readonly kind: 'call';
  readonly name: string;
  /** Of what is called as a method. */
  readonly target: CostNode | undefined;
  readonly args: readonly CostNode[];
  /** What may be called: the types of parameters, as far as they make a difference. */
  readonly overloads: readonly Pick<Overload, 'takes'>[];
}

interface LoopNode {
  readonly kind: 'loop';
  readonly range: CostNode;
  readonly variables: Fold['variables'];
  readonly start: CostNode;
  readonly condition: CostNode;
  readonly step: CostNode;
  readonly result: CostNode;
}

/** No variable of an expression has this name. */
export const accumulator = '@result';
const sorted = '@sorted';

const { bool, int, dyn } = types;
const literal = (value: Value, type: Type): CostNode => ({ kind: 'literal', value, type });
const name = (of: string, type: Type): CostNode => ({ kind: 'name', name: of, type });
const call = (
  of: string,
  type: Type,
  args: readonly CostNode[],
  takes: readonly Type[] = [],
  target?: CostNode,
): CostNode => ({ kind: 'call', name: of, type, target, args, overloads: [{ takes }] });
const listOf = (elements: readonly CostNode[], type: Type): CostNode => ({ kind: 'list', elements, type });
const choose = (condition: CostNode, yes: CostNode, no: CostNode): CostNode =>
  call('_?_:_', yes.type, [condition, yes, no]);

/** Expands the macros of a checked expression. */
export function expandMacros(node: Node, checked: Checked, library: Library): CostNode {
  const expand = (part: Node): CostNode => {
    const type = checked.typeOf(part);
    switch (part.kind) {
      case 'literal':
        return literal(part.value, type);
      case 'name':
        return name(part.name, type);
      case 'select':
        return part.mode === 'optional'
          ? call('_?._', type, [expand(part.operand), literal(part.field, types.string)])
          : {
              kind: 'select',
              operand: expand(part.operand),
              field: part.field,
              isTest: part.mode === 'presence',
              type,
            };
      case 'call': {
        const { name: called, method, args } = library.functionCalled(part);
        const [target, ...others] = args.map(expand);
        const overloads = checked.overloadsOf(part) ?? [];
        const shared = { kind: 'call', name: called, type, overloads } as const;
        return method
          ? { ...shared, target, args: others }
          : { ...shared, target: undefined, args: target ? [target, ...others] : [] };
      }
      case 'logic':
        return call('logic', bool, part.operands.map(expand));
      case 'conditional':
        return { ...choose(expand(part.condition), expand(part.yes), expand(part.no)), type };
      case 'list':
        return listOf(
          part.elements.map(({ value }) => expand(value)),
          type,
        );
      case 'map':
        return { kind: 'map', entries: part.entries.map(({ key, value }) => [expand(key), expand(value)]), type };
      case 'fold':
        return part.form === 'sortBy' ? expandSort(part, type, expand) : expandFold(part, type, expand);
      case 'optional map': {
        const target = expand(part.target);
        const { type: of } = target;
        const value = call('value', of.kind === 'optional' ? of.of : dyn, [], [], target);
        const body = expand(part.body);
        const bound: CostNode = { kind: 'bind', variable: part.variable, value, result: body, type: body.type };
        return choose(
          call('hasValue', bool, [], [], target),
          part.flat ? bound : call('optional.of', type, [bound]),
          call('optional.none', type, []),
        );
      }
      case 'message':
        // No type of a rule can be made so.
        return literal(null, type);
      default:
        return unreachable(part);
    }
  };
  return expand(node);
}

type Expand = (node: Node) => CostNode;

function expandSort(fold: Fold, type: Type, expand: Expand): CostNode {
  const target = expand(fold.range);
  const variable = name(sorted, target.type);
  const result = fold.result && expand(fold.result);
  const keys = types.list(result?.type ?? dyn);
  const mapped = collect({ ...fold, form: 'map' }, variable, keys, result ? [result] : [], undefined);
  const by = call('@sortByAssociatedKeys', type, [mapped], [target.type, keys], variable);
  return { kind: 'bind', variable: sorted, value: target, result: by, type };
}

function expandFold(fold: Fold, type: Type, expand: Expand): CostNode {
  const range = expand(fold.range);
  const predicate = fold.predicate && expand(fold.predicate);
  const result = fold.result && expand(fold.result);
  const given = predicate ? [predicate] : [];
  switch (fold.form) {
    case 'all':
    case 'exists': {
      const isAll = fold.form === 'all';
      const all = name(accumulator, bool);
      return {
        kind: 'loop',
        type: bool,
        range,
        variables: fold.variables,
        start: literal(isAll, bool),
        condition: call('@not_strictly_false', bool, [isAll ? all : call('!_', bool, [all])]),
        step: call('logic', bool, [all, ...given]),
        result: all,
      };
    }
    case 'existsOne': {
      const count = name(accumulator, int);
      const one = literal(1n, int);
      const more = call('_+_', int, [count, one], [int, int]);
      return {
        kind: 'loop',
        type: bool,
        range,
        variables: fold.variables,
        start: literal(0n, int),
        condition: literal(true, bool),
        step: predicate ? choose(predicate, more, count) : more,
        result: call('_==_', bool, [count, one]),
      };
    }
    case 'filter': {
      const [variable] = fold.variables;
      const element = name(variable, range.type.kind === 'map' ? range.type.key : elementOf(range.type));
      return collect(fold, range, type, [element], predicate);
    }
    case 'map':
      return collect(fold, range, type, result ? [result] : [], predicate);
    case 'transformMap':
    case 'transformMapEntry': {
      const made = name(accumulator, type);
      const [key] = fold.variables;
      const entry = fold.form === 'transformMap' ? [name(key, dyn)] : [];
      const step = call('cel.@mapInsert', type, [made, ...entry, ...(result ? [result] : [])]);
      return {
        kind: 'loop',
        type,
        range,
        variables: fold.variables,
        start: { kind: 'map', entries: [], type },
        condition: literal(true, bool),
        step: predicate ? choose(predicate, step, made) : step,
        result: made,
      };
    }
    case 'sortBy':
      return expandSort(fold, type, expand);
    default:
      return unreachable(fold.form);
  }
}

const elementOf = (type: Type): Type => (type.kind === 'list' ? type.of : dyn);

/** A loop that appends to a list. */
function collect(
  { variables }: Fold,
  range: CostNode,
  type: Type,
  elements: readonly CostNode[],
  predicate: CostNode | undefined,
): CostNode {
  const made = name(accumulator, type);
  const step = call('_+_', type, [made, listOf(elements, type)], [type, type]);
  return {
    kind: 'loop',
    type,
    range,
    variables,
    start: listOf([], type),
    condition: literal(true, bool),
    step: predicate ? choose(predicate, step, made) : step,
    result: made,
  };
}
