import { unreachable } from '@cluster-apiserver/base';
import type { Value } from '../values/value.ts';

/** An expression as a tree, with macros distinguished from calls. `at` is an offset in the text. */
export type Node = { readonly at: number; readonly depth: number } & Form;

export type Form =
  | { readonly kind: 'literal'; readonly value: Value }
  | { readonly kind: 'name'; readonly name: string }
  | {
      readonly kind: 'select';
      readonly operand: Node;
      readonly field: string;
      /** `has(a.b)` asks whether, `a.?b` gives an optional. */
      readonly mode: 'value' | 'presence' | 'optional';
    }
  | { readonly kind: 'call'; readonly name: string; readonly target: Node | undefined; readonly args: readonly Node[] }
  | { readonly kind: 'logic'; readonly operator: '&&' | '||'; readonly operands: readonly Node[] }
  | { readonly kind: 'conditional'; readonly condition: Node; readonly yes: Node; readonly no: Node }
  | { readonly kind: 'list'; readonly elements: readonly { readonly optional: boolean; readonly value: Node }[] }
  | { readonly kind: 'map'; readonly entries: readonly MapEntry[] }
  | { readonly kind: 'message'; readonly name: string; readonly fields: readonly MessageField[] }
  | Fold
  | {
      readonly kind: 'optional map';
      readonly target: Node;
      readonly variable: string;
      readonly body: Node;
      /** The body gives an optional itself. */
      readonly flat: boolean;
    };

export interface MessageField {
  readonly optional: boolean;
  readonly name: string;
  readonly value: Node;
}

export interface MapEntry {
  readonly optional: boolean;
  readonly key: Node;
  readonly value: Node;
}

/** A macro that walks over a list or a map. */
export interface Fold {
  readonly kind: 'fold';
  readonly form: 'all' | 'exists' | 'existsOne' | 'filter' | 'map' | 'sortBy' | 'transformMap' | 'transformMapEntry';
  readonly range: Node;
  /** One variable: the element of a list or the key of a map. Two: index and element, or key and value. */
  readonly variables: readonly [string] | readonly [string, string];
  /** Which elements count; every one when there is none. */
  readonly predicate: Node | undefined;
  readonly result: Node | undefined;
}

export function childrenOf(node: Form): readonly Node[] {
  switch (node.kind) {
    case 'literal':
    case 'name':
      return [];
    case 'select':
      return [node.operand];
    case 'call':
      return node.target ? [node.target, ...node.args] : node.args;
    case 'logic':
      return node.operands;
    case 'conditional':
      return [node.condition, node.yes, node.no];
    case 'list':
      return node.elements.map(({ value }) => value);
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case 'message':
      return node.fields.map(({ value }) => value);
    case 'fold':
      return [node.range, node.predicate, node.result].filter((child) => child !== undefined);
    case 'optional map':
      return [node.target, node.body];
    default:
      return unreachable(node);
  }
}

/** `a.b.c` as one name; undefined for anything that is not names all the way down. */
export function qualifiedName(node: Node): string | undefined {
  if (node.kind === 'name') return node.name;
  if (node.kind !== 'select' || node.mode !== 'value') return undefined;
  const operand = qualifiedName(node.operand);
  return operand === undefined ? undefined : `${operand}.${node.field}`;
}
