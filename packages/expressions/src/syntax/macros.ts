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
  const [first, second, third, fourth] = args;
  if (!target) return name === 'has' && first && args.length === 1 ? make(at, expandHas(first)) : undefined;
  if (!first || !second || args.length > 4) return undefined;

  const fold = (form: Fold['form'], variables: readonly Node[], predicate?: Node, result?: Node): Node =>
    make(at, { kind: 'fold', form, range: target, variables: namesOf(variables), predicate, result });
  switch (`${name}/${args.length}`) {
    case 'all/2':
    case 'exists/2':
    case 'filter/2':
      return fold(name as 'all' | 'exists' | 'filter', [first], second);
    case 'exists_one/2':
      return fold('existsOne', [first], second);
    case 'map/2':
      return fold('map', [first], undefined, second);
    case 'map/3':
      return fold('map', [first], second, third);
    case 'sortBy/2':
      return fold('sortBy', [first], undefined, second);
    case 'all/3':
    case 'exists/3':
      return fold(name as 'all' | 'exists', [first, second], third);
    case 'exists_one/3':
    case 'existsOne/3':
      return fold('existsOne', [first, second], third);
    case 'transformList/3':
      return fold('map', [first, second], undefined, third);
    case 'transformList/4':
      return fold('map', [first, second], third, fourth);
    case 'transformMap/3':
    case 'transformMapEntry/3':
      return fold(name as 'transformMap' | 'transformMapEntry', [first, second], undefined, third);
    case 'transformMap/4':
    case 'transformMapEntry/4':
      return fold(name as 'transformMap' | 'transformMapEntry', [first, second], third, fourth);
    case 'optMap/2':
    case 'optFlatMap/2':
      return make(at, {
        kind: 'optional map',
        target,
        variable: variableOf(first),
        body: second,
        flat: name === 'optFlatMap',
      });
    default:
      return undefined;
  }
}

function expandHas(argument: Node): Form {
  if (argument.kind !== 'select' || argument.mode !== 'value')
    throw new SyntaxFault(argument.at, 'invalid argument to has() macro');
  return { kind: 'select', operand: argument.operand, field: argument.field, mode: 'presence' };
}

function namesOf(nodes: readonly Node[]): [string] | [string, string] {
  const [first, second] = nodes.map(variableOf) as [string, string?];
  if (first === second) throw new SyntaxFault((nodes[1] as Node).at, 'the two variables of a macro need two names');
  return second === undefined ? [first] : [first, second];
}

function variableOf(node: Node): string {
  if (node.kind !== 'name' || node.name.startsWith('.'))
    throw new SyntaxFault(node.at, 'argument is not an identifier');
  // The name under which the reference collects results, so no expression that works there has it.
  if (node.name === '__result__') throw new SyntaxFault(node.at, 'the name of a macro variable is reserved');
  return node.name;
}
