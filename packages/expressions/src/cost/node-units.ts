import type { Library } from '../library/index.ts';
import { childrenOf, type Node } from '../syntax/node.ts';

/**
 * What a part of an expression costs in kube-apiserver's units, besides the parts in it and unless that depends on values.
 * A chain of fields and entries is one access there, with a unit for what it begins with and for each of them.
 */
export function accessUnits(node: Node): number {
  switch (node.kind) {
    case 'name':
      return 1;
    case 'select':
      return node.mode === 'presence' ? 0 : entryUnits(node.operand);
    case 'list':
      return 10;
    case 'map':
      return 30;
    case 'call': {
      const [operand, index] = node.args;
      if (!operand || !index || !isIndex(node)) return 0;
      // An index that is an access is a part of this one.
      return entryUnits(operand) - (isAccess(index) ? 1 : 0);
    }
    default:
      return 0;
  }
}

const entryUnits = (operand: Node): number => (isAccess(operand) || operand.kind === 'conditional' ? 1 : 2);

const isIndex = (node: Node): boolean => node.kind === 'call' && (node.name === '_[_]' || node.name === '_[?_]');

/** Whether it reads a variable, a field or an entry. */
export const isAccess = (node: Node): boolean =>
  node.kind === 'name' || (node.kind === 'select' && node.mode !== 'presence') || isIndex(node);

const conversions = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'dyn',
  'int',
  'string',
  'timestamp',
  'type',
  'uint',
]);

/** Whether kube-apiserver evaluates it when it compiles the expression, so that it costs nothing. */
export function isConstant(node: Node, library: Library): boolean {
  switch (node.kind) {
    case 'literal':
      return true;
    case 'list':
    case 'map':
      return childrenOf(node).every((child) => isConstant(child, library));
    case 'call': {
      const { name, method, args } = library.functionCalled(node);
      const [first, ...others] = args;
      return !method && conversions.has(name) && !!first && others.length === 0 && isConstant(first, library);
    }
    default:
      return false;
  }
}
