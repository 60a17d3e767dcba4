import { validateFormat } from '../library/format.ts';
import type { Library } from '../library/index.ts';
import { accepts, call } from '../library/overload.ts';
import { PatternCheck } from '../library/regular-expressions.ts';
import { Budget } from '../run/budget.ts';
import type { Fault } from '../syntax/fault.ts';
import { childrenOf, type Node } from '../syntax/node.ts';
import { EvaluationError } from '../values/value.ts';
import { formatType, shortenType, type Type } from './type.ts';

type TypeOf = (node: Node) => Type;

/**
 * What Kubernetes refuses of expressions whose types are right: lists and maps of several types, and literals that a
 * function could only fail on.
 */
export function validateLiterals(node: Node, typeOf: TypeOf, library: Library): Fault[] {
  const faults: Fault[] = [];
  const patterns = new PatternCheck();
  const visit = (part: Node, mayMix: boolean): void => {
    const called = part.kind === 'call' ? library.functionCalled(part) : undefined;
    if (called) faults.push(...validateCall(called, part.at, typeOf, library, patterns));
    else if (!mayMix) faults.push(...findMixed(part, typeOf));
    // What is formatted stands in one list whatever its types.
    for (const child of childrenOf(part)) visit(child, mayMix || (called?.method === true && called.name === 'format'));
  };
  visit(node, false);
  return faults;
}

/** The first one of a list, and all of a map, as cel-go has it. */
function findMixed(node: Node, typeOf: TypeOf): Fault[] {
  if (node.kind === 'list') return findMixedTypes(node.elements, typeOf).slice(0, 1);
  if (node.kind !== 'map') return [];
  const keys = node.entries.map(({ key }) => ({ value: key, optional: false }));
  const faults = [...findMixedTypes(keys, typeOf), ...findMixedTypes(node.entries, typeOf)];
  return faults.toSorted((one, other) => one.at - other.at);
}

interface Element {
  readonly value: Node;
  readonly optional: boolean;
}

/** Those that are not of the type of the first. */
function findMixedTypes(elements: readonly Element[], typeOf: TypeOf): Fault[] {
  const typesOf = elements.map(({ value, optional }) => {
    const type = typeOf(value);
    return formatType(optional && type.kind === 'optional' ? type.of : type);
  });
  const [first = ''] = typesOf;
  return elements.flatMap(({ value }, index) => {
    const found = typesOf[index] ?? first;
    const message = `expected type '${shortenType(first)}' but found '${shortenType(found)}'`;
    return found === first ? [] : [{ at: value.at, message }];
  });
}

function validateCall(
  { name, method, args }: ReturnType<Library['functionCalled']>,
  at: number,
  typeOf: TypeOf,
  library: Library,
  patterns: PatternCheck,
): readonly Fault[] {
  const [first, second] = args;
  switch (name) {
    case 'matches':
    case 'find':
    case 'findAll':
      return second ? patterns.findFault(second, method && name === 'matches') : [];
    case 'int':
    case 'uint':
    case 'double':
    case 'bool':
    case 'string':
    case 'duration':
    case 'timestamp':
      return first && !method ? validateConversion(name, first, library) : [];
    case 'format':
      return method && first && second ? validateFormat(first, second, at, typeOf) : [];
    default:
      return [];
  }
}

function validateConversion(name: string, node: Node, library: Library): Fault[] {
  if (node.kind !== 'literal') return [];
  const overload = library.overloadsNamed(name).find((candidate) => accepts(candidate, [node.value]));
  try {
    // What is converted was written here, and an expression is short.
    if (overload) call(overload, [node.value], new Budget(Number.POSITIVE_INFINITY));
    return [];
  } catch (error) {
    if (!(error instanceof EvaluationError)) throw error;
    return [{ at: node.at, message: `invalid ${name} argument: ${error.message}` }];
  }
}
