import { SyntaxFault } from './fault.ts';
import type { Fold, Form, Node } from './node.ts';

type Make = (at: number, form: Form) => Node;

/** Macros look like calls, but evaluate their arguments repeatedly or not at all. */
export function expandMacro(
  make: Make,
  name: string,
  target: Node | undefined,
  args: readonly Node[],
  at: number,
): Node | undefined {
  const [first, second] = args;
  if (!target) return name === 'has' && first && args.length === 1 ? make(at, expandHas(first)) : undefined;
  if (!first || !second) return undefined;
  const call = `${name}/${args.length}`;
  if (call === 'optMap/2' || call === 'optFlatMap/2')
    return make(at, {
      kind: 'optional map',
      target,
      variable: variableOf(first),
      body: second,
      flat: name === 'optFlatMap',
    });
  const shape = foldShapes.get(call);
  if (!shape) return undefined;
  return make(at, {
    kind: 'fold',
    form: shape.form,
    range: target,
    variables: shape.variables === 1 ? [variableOf(first)] : namesOf(first, second),
    predicate: shape.predicate === undefined ? undefined : args[shape.predicate],
    result: shape.result === undefined ? undefined : args[shape.result],
  });
}

/** How many of the arguments of a macro name variables, and where the others are. */
interface FoldShape {
  readonly form: Fold['form'];
  readonly variables: 1 | 2;
  readonly predicate?: number;
  readonly result?: number;
}

/** By name and number of arguments. */
const foldShapes: ReadonlyMap<string, FoldShape> = new Map<string, FoldShape>([
  ['all/2', { form: 'all', variables: 1, predicate: 1 }],
  ['exists/2', { form: 'exists', variables: 1, predicate: 1 }],
  ['filter/2', { form: 'filter', variables: 1, predicate: 1 }],
  ['exists_one/2', { form: 'existsOne', variables: 1, predicate: 1 }],
  ['map/2', { form: 'map', variables: 1, result: 1 }],
  ['map/3', { form: 'map', variables: 1, predicate: 1, result: 2 }],
  ['sortBy/2', { form: 'sortBy', variables: 1, result: 1 }],
  ['all/3', { form: 'all', variables: 2, predicate: 2 }],
  ['exists/3', { form: 'exists', variables: 2, predicate: 2 }],
  ['exists_one/3', { form: 'existsOne', variables: 2, predicate: 2 }],
  ['existsOne/3', { form: 'existsOne', variables: 2, predicate: 2 }],
  ['transformList/3', { form: 'map', variables: 2, result: 2 }],
  ['transformList/4', { form: 'map', variables: 2, predicate: 2, result: 3 }],
  ['transformMap/3', { form: 'transformMap', variables: 2, result: 2 }],
  ['transformMap/4', { form: 'transformMap', variables: 2, predicate: 2, result: 3 }],
  ['transformMapEntry/3', { form: 'transformMapEntry', variables: 2, result: 2 }],
  ['transformMapEntry/4', { form: 'transformMapEntry', variables: 2, predicate: 2, result: 3 }],
]);

function expandHas(argument: Node): Form {
  if (argument.kind !== 'select' || argument.mode !== 'value')
    throw new SyntaxFault(argument.at, 'invalid argument to has() macro');
  return { kind: 'select', operand: argument.operand, field: argument.field, mode: 'presence' };
}

function namesOf(first: Node, second: Node): [string, string] {
  const [one, two] = [variableOf(first), variableOf(second)];
  if (one === two) throw new SyntaxFault(second.at, 'the two variables of a macro need two names');
  return [one, two];
}

function variableOf(node: Node): string {
  if (node.kind !== 'name' || node.name.startsWith('.'))
    throw new SyntaxFault(node.at, 'argument is not an identifier');
  // The name under which the reference collects results, so no expression that works there has it.
  if (node.name === '__result__') throw new SyntaxFault(node.at, 'the name of a macro variable is reserved');
  return node.name;
}
