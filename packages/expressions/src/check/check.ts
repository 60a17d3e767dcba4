import { unreachable } from '@cluster-apiserver/base';
import type { Overload } from '../library/overload.ts';
import { Uint, type Value } from '../values/value.ts';
import type { Fault } from '../syntax/fault.ts';
import type { Fold, Node } from '../syntax/node.ts';
import { Inference } from './inference.ts';
import { type Declarations, type Locals, resolveReference, withLocal } from './names.ts';
import { fieldOf, formatType, shortenType, type Type, types } from './type.ts';

/** The type of an expression's value, and all that cannot work in it. */
export function check(node: Node, declared: Declarations): Checked {
  const checker = new Checker(declared);
  const type = checker.typeOf(node, undefined);
  return {
    type: checker.inference.resolve(type),
    faults: checker.faults,
    typeOf: (part) => checker.inference.resolve(checker.types.get(part) ?? dyn),
    overloadsOf: (part) => checker.overloads.get(part),
    variables: checker.variables,
  };
}

export interface Checked {
  readonly type: Type;
  readonly faults: readonly Fault[];
  /** The type of a part of the checked expression. */
  readonly typeOf: (node: Node) => Type;
  /** The overloads of a call that fit the argument types. */
  readonly overloadsOf: OverloadsOf;
  /** The variables that it reads. */
  readonly variables: ReadonlySet<string>;
}

const { bool, dyn, int } = types;

export type OverloadsOf = (node: Node) => readonly Overload[] | undefined;

class Checker {
  readonly inference = new Inference();
  readonly faults: Fault[] = [];
  readonly types = new Map<Node, Type>();
  readonly overloads = new Map<Node, readonly Overload[]>();
  readonly variables = new Set<string>();
  readonly #declared: Declarations;

  constructor(declared: Declarations) {
    this.#declared = declared;
  }

  typeOf(node: Node, locals: Locals | undefined): Type {
    const type = this.#typeOf(node, locals);
    this.types.set(node, type);
    return type;
  }

  #typeOf(node: Node, locals: Locals | undefined): Type {
    switch (node.kind) {
      case 'literal':
        return typeOfLiteral(node.value);
      case 'name':
        return (
          this.#reference(node, locals) ??
          this.#fault(
            node,
            `undeclared reference to '${node.name.replace(/^\./, '')}' (in container '${this.#declared.container}')`,
          )
        );
      case 'select':
        return this.#reference(node, locals) ?? this.#select(node, this.typeOf(node.operand, locals));
      case 'call':
        return this.#call(node, locals);
      case 'logic':
        for (const operand of node.operands) this.#expect(operand, bool, locals);
        return bool;
      case 'conditional':
        return this.#conditional(node, locals);
      case 'list':
        return types.list(
          this.#joined(node.elements.map((element) => this.#element(element.value, element.optional, locals))),
        );
      case 'map':
        return types.map(
          this.#joined(node.entries.map(({ key }) => this.typeOf(key, locals))),
          this.#joined(node.entries.map(({ value, optional }) => this.#element(value, optional, locals))),
        );
      case 'message':
        return this.#message(node, locals);
      case 'fold':
        return this.#fold(node, locals);
      case 'optional map':
        return this.#optionalMap(node, locals);
      default:
        return unreachable(node);
    }
  }

  #reference(node: Node, locals: Locals | undefined): Type | undefined {
    const found = resolveReference(node, this.#declared, locals);
    if (found?.kind === 'variable') this.variables.add(found.name);
    return found?.kind === 'local' ? found.local.type : found?.type;
  }

  #select(node: Node & { kind: 'select' }, operand: Type): Type {
    const within = this.inference.shallow(operand);
    const container = within.kind === 'optional' ? this.inference.shallow(within.of) : within;
    const field = this.#field(node, container);
    if (node.mode === 'presence') return bool;
    return node.mode === 'optional' || within.kind === 'optional' ? types.optional(field) : field;
  }

  #field(node: Node & { kind: 'select' }, container: Type): Type {
    switch (container.kind) {
      case 'dyn':
      case 'parameter':
        return dyn;
      case 'map':
        return container.of;
      case 'object':
        return fieldOf(container, node.field) ?? this.#fault(node, `undefined field '${node.field}'`);
      case 'opaque':
        return this.#fault(node, `unexpected failed resolution of '${container.name}'`);
      default:
        return this.#fault(node, `type '${this.#format(container)}' does not support field selection`);
    }
  }

  #call(node: Node & { kind: 'call' }, locals: Locals | undefined): Type {
    const { library } = this.#declared;
    const { name, method, args } = library.functionCalled(node);
    const given = args.map((arg) => this.typeOf(arg, locals));
    const overloads = library.overloadsNamed(name);
    if (overloads.length === 0)
      return this.#fault(node, `undeclared reference to '${name}' (in container '${this.#declared.container}')`);
    let gives: Type | undefined;
    const fitting: Overload[] = [];
    for (const overload of overloads) {
      if (overload.isMethod !== method) continue;
      const rename = this.inference.createRenaming();
      const result = rename(overload.gives);
      if (!this.inference.assign(given, overload.takes.map(rename))) continue;
      fitting.push(overload);
      // Arguments of unknown types may mean several functions; what they have in common is all that is known.
      if (gives === undefined) gives = result;
      else if (formatType(this.inference.substitute(gives)) !== formatType(this.inference.substitute(result)))
        gives = dyn;
    }
    this.overloads.set(node, fitting);
    return (
      gives ??
      this.#fault(node, `found no matching overload for '${name}' applied to '${this.#formatCall(given, method)}'`)
    );
  }

  #conditional(node: Node & { kind: 'conditional' }, locals: Locals | undefined): Type {
    const condition = this.typeOf(node.condition, locals);
    const yes = this.typeOf(node.yes, locals);
    const no = this.typeOf(node.no, locals);
    if (!this.inference.assign([condition, no], [bool, yes]))
      return this.#fault(
        node,
        `found no matching overload for '_?_:_' applied to '${this.#formatCall([condition, yes, no], false)}'`,
      );
    return this.inference.join(yes, no);
  }

  #element(node: Node, optional: boolean, locals: Locals | undefined): Type {
    const type = this.typeOf(node, locals);
    if (!optional) return type;
    const of = this.inference.fresh();
    if (this.inference.assign([type], [types.optional(of)])) return of;
    return this.#fault(node, `expected type 'optional_type(${this.#format(type)})' but found '${this.#format(type)}'`);
  }

  #message(node: Node & { kind: 'message' }, locals: Locals | undefined): Type {
    const given = node.fields.map((field) => ({
      field,
      type: this.#element(field.value, field.optional, locals),
    }));
    const made = this.#declared.constructible?.(node.name.replace(/^\./, ''));
    if (made?.kind !== 'object')
      return this.#fault(node, `undeclared reference to '${node.name}' (in container '${this.#declared.container}')`);
    for (const { field, type } of given) {
      const wanted = fieldOf(made, field.name);
      if (!wanted) this.#fault(field.value, `undefined field '${field.name}'`);
      else if (!this.inference.assign([type], [wanted]))
        this.#fault(
          field.value,
          `expected type of field '${field.name}' is '${formatType(wanted)}' but provided type is '${this.#format(type)}'`,
        );
    }
    return made;
  }

  #joined(all: readonly Type[]): Type {
    return all.length === 0 ? this.inference.fresh() : all.reduce((one, other) => this.inference.join(one, other));
  }

  #fold(node: Node & Fold, locals: Locals | undefined): Type {
    const range = this.inference.shallow(this.typeOf(node.range, locals));
    const [first, second] = this.#variables(node, range);
    const [one, two] = node.variables;
    let inner = withLocal(locals, one, two === undefined && range.kind === 'list' ? second : first);
    const element = inner.type;
    if (two !== undefined) inner = withLocal(inner, two, second);
    if (node.predicate) this.#expect(node.predicate, bool, inner);
    const result = node.result ? this.typeOf(node.result, inner) : dyn;
    switch (node.form) {
      case 'all':
      case 'exists':
      case 'existsOne':
        return bool;
      case 'filter':
        return types.list(element);
      case 'map':
        return types.list(result);
      case 'sortBy':
        return this.#sorted(node, range, element, result);
      case 'transformMap':
        return types.map(first, result);
      case 'transformMapEntry': {
        const map = types.map(this.inference.fresh(), this.inference.fresh());
        return this.inference.assign([result], [map])
          ? map
          : this.#fault(node, `found no matching overload for '${node.form}' applied to '(${this.#format(result)})'`);
      }
      default:
        return unreachable(node.form);
    }
  }

  #sorted(node: Node & Fold, range: Type, element: Type, key: Type): Type {
    const isSortable = comparable.has(this.inference.shallow(key).kind);
    return isSortable && range.kind !== 'map'
      ? types.list(element)
      : this.#fault(
          node,
          `found no matching overload for 'sortBy' applied to '${this.#format(range)}.(${this.#format(key)})'`,
        );
  }

  /** Index and element of a list, key and value of a map. */
  #variables(node: Fold, range: Type): [Type, Type] {
    switch (range.kind) {
      case 'list':
        return [int, range.of];
      case 'map':
        return [range.key, range.of];
      case 'dyn':
      case 'parameter':
        return [dyn, dyn];
      default:
        this.#fault(
          node.range,
          `expression of type '${this.#format(range)}' cannot be range of a comprehension (must be list, map, or dynamic)`,
        );
        return [dyn, dyn];
    }
  }

  #optionalMap(node: Node & { kind: 'optional map' }, locals: Locals | undefined): Type {
    const of = this.#element(node.target, true, locals);
    const body = this.typeOf(node.body, withLocal(locals, node.variable, of));
    if (!node.flat) return types.optional(body);
    const inner = types.optional(this.inference.fresh());
    return this.inference.assign([body], [inner])
      ? inner
      : this.#fault(node.body, `found no matching overload for 'optFlatMap' applied to '(${this.#format(body)})'`);
  }

  #expect(node: Node, wanted: Type, locals: Locals | undefined): void {
    const type = this.typeOf(node, locals);
    if (!this.inference.assign([type], [wanted]))
      this.#fault(node, `expected type '${formatType(wanted)}' but found '${this.#format(type)}'`);
  }

  /** The type after an error is dynamic, so that one mistake is reported once. */
  #fault({ at }: Node, message: string): Type {
    this.faults.push({ at, message });
    return dyn;
  }

  #format(type: Type): string {
    return shortenType(formatType(this.inference.resolve(type)));
  }

  #formatCall(given: readonly Type[], method: boolean): string {
    const [target, ...args] = given.map((type) => this.#format(type));
    return method
      ? `${target}.(${args.join(', ')})`
      : `(${[target, ...args].filter((arg) => arg !== undefined).join(', ')})`;
  }
}

const comparable: ReadonlySet<Type['kind']> = new Set([
  'int',
  'uint',
  'double',
  'bool',
  'string',
  'bytes',
  'timestamp',
  'duration',
  'dyn',
  'parameter',
]);

function typeOfLiteral(value: Value): Type {
  switch (typeof value) {
    case 'boolean':
      return bool;
    case 'bigint':
      return int;
    case 'number':
      return types.double;
    case 'string':
      return types.string;
    default:
      if (value === null) return types.null;
      return value instanceof Uint ? types.uint : types.bytes;
  }
}
