import { unreachable } from '@cluster-apiserver/base';
import type { Type } from '../check/type.ts';
import { accumulator, type CostNode } from './cost-node.ts';
import { type Argument, estimateCall } from './call-costs.ts';
import { type CostPath, exactly, type Size, type SizeAt, times, union, unknownSize } from './size.ts';

/** What a name, a field or an entry costs, and new lists and maps. */
const accessCost = 1;
const newListCost = 10;
const newMapCost = 30;

/**
 * The highest cost of an expression in kube-apiserver's units. All that decides about a definition must be estimated
 * alike, also where the estimate is strange.
 */
export const estimateCost = (node: CostNode, sizeAt: SizeAt): number => new Estimate(sizeAt).cost(node);

/** Of the entries of a list or map that was made in the expression. */
interface EntrySize {
  readonly isMap: boolean;
  readonly key: Size;
  readonly value: Size;
}

interface Local {
  readonly path: CostPath;
  readonly size: Size | undefined;
  readonly entries: EntrySize | undefined;
}

class Estimate {
  readonly #sizeAt: SizeAt;
  /** A macro may have a part twice. */
  readonly #costs = new Map<CostNode, number>();
  readonly #paths = new Map<CostNode, CostPath>();
  readonly #sizes = new Map<CostNode, Size>();
  readonly #entries = new Map<CostNode, EntrySize>();
  readonly #locals = new Map<string, Local>();

  constructor(sizeAt: SizeAt) {
    this.#sizeAt = sizeAt;
  }

  cost(node: CostNode): number {
    const known = this.#costs.get(node);
    if (known !== undefined) return known;
    const cost = this.#cost(node);
    this.#costs.set(node, cost);
    return cost;
  }

  #cost(node: CostNode): number {
    switch (node.kind) {
      case 'literal':
        return 0;
      case 'name':
        this.#paths.set(node, this.#locals.get(node.name)?.path ?? [node.name]);
        return accessCost;
      case 'select': {
        const { operand, field, isTest } = node;
        const cost = this.cost(operand);
        if (isTest) return cost;
        this.#paths.set(node, [...this.#pathOf(operand), field]);
        return cost + (operand.type.kind === 'map' || operand.type.kind === 'object' ? accessCost : 0);
      }
      case 'call':
        return this.#call(node);
      case 'list': {
        const cost = this.#costOfAll(node.elements);
        this.#entries.set(node, { isMap: false, key: exactly(1), value: this.#unionOf(node.elements) });
        return newListCost + cost;
      }
      case 'map': {
        const cost = this.#costOfAll(node.entries.flat());
        const [keys, values] = [node.entries.map(([key]) => key), node.entries.map(([, value]) => value)];
        this.#entries.set(node, { isMap: true, key: this.#unionOf(keys), value: this.#unionOf(values) });
        return newMapCost + cost;
      }
      case 'loop':
        return this.#loop(node);
      case 'bind': {
        const cost = newListCost + this.cost(node.value);
        const local = this.#localOf(node.value);
        const inner = this.#within([[node.variable, local]], () => {
          const result = this.cost(node.result);
          this.#copySizes(node.result, node);
          return result;
        });
        return cost + inner;
      }
      default:
        return unreachable(node);
    }
  }

  #call(node: CostNode & { kind: 'call' }): number {
    const { name, target, args, overloads } = node;
    const [first, second, third] = args;
    const argsCost = this.#costOfAll(args);
    if (name === 'logic') return argsCost;
    if (name === 'dyn' && first) {
      this.#copySizes(first, node);
      return argsCost + 1;
    }
    if (name === '_?_:_' && first && second && third) {
      this.#sizes.set(node, union(this.#sizeOrUnknown(second), this.#sizeOrUnknown(third)));
      this.#joinEntries(node, second, third);
      return this.cost(first) + Math.max(this.cost(second), this.cost(third));
    }
    const given = args.map((arg) => this.#argument(arg));
    const targetCost = target ? this.cost(target) : 0;
    const on = target && this.#argument(target);
    let cost = 0;
    let size: Size | undefined;
    for (const { takes } of overloads) {
      const estimated = estimateCall(name, takes, on, given, this.#sizeAt);
      cost = Math.max(cost, estimated.cost);
      if (estimated.size) size = size ? union(size, estimated.size) : estimated.size;
      const kind = takes[0]?.kind;
      if (name === '_+_' && first && second && appended.has(kind)) this.#joinEntries(node, first, second);
      if (name === '_[_]' && first && (kind === 'list' || kind === 'map')) {
        size = this.#entriesOf(first)?.value;
        this.#paths.set(node, [...this.#pathOf(first), kind === 'list' ? '@items' : '@values']);
      }
      size ??= this.#sizeOf(node);
    }
    if (size) this.#sizes.set(node, size);
    return targetCost + argsCost + cost;
  }

  #loop(node: CostNode & { kind: 'loop' }): number {
    const { range, variables, start, condition, step, result } = node;
    const outside = this.cost(range) + this.cost(start);
    const made: readonly [string, Local] = [accumulator, this.#localOf(start)];
    const round = this.#within([made, ...this.#loopVariables(variables, range)], () => {
      const cost = this.cost(condition) + this.cost(step);
      // While the accumulator has its first size, as everything in the loop.
      this.#entriesOf(step);
      return cost;
    });
    const end = this.#within([made], () => this.cost(result));
    const rounds = this.#sizeOrUnknown(range);
    if (start.kind === 'literal') this.#sizes.set(node, exactly(1));
    else {
      this.#sizes.set(node, rounds);
      const entries = this.#entries.get(step);
      if (entries) this.#entries.set(node, entries);
    }
    return outside + end + times(rounds.max, round);
  }

  #loopVariables(variables: readonly [string] | readonly [string, string], range: CostNode): [string, Local][] {
    const entries = this.#entriesOf(range);
    const isList = entries ? !entries.isMap : range.type.kind === 'list';
    const path = this.#pathOf(range);
    const of = (part: string, size: Size | undefined): Local => ({ path: [...path, part], size, entries: undefined });
    const keys = of(isList ? '@indices' : '@keys', entries?.key);
    const values = of(isList ? '@items' : '@values', entries?.value);
    const [first, second] = variables;
    return second === undefined
      ? [[first, isList ? values : keys]]
      : [
          [first, keys],
          [second, values],
        ];
  }

  /** With variables that mean something else around them. */
  #within<T>(locals: readonly (readonly [string, Local])[], work: () => T): T {
    const outer = locals.map(([name]) => [name, this.#locals.get(name)] as const);
    for (const [name, local] of locals) this.#locals.set(name, local);
    const result = work();
    for (const [name, local] of outer.toReversed())
      if (local) this.#locals.set(name, local);
      else this.#locals.delete(name);
    return result;
  }

  #localOf(value: CostNode): Local {
    return { path: this.#pathOf(value), size: this.#sizeOf(value), entries: this.#entriesOf(value) };
  }

  #costOfAll(nodes: readonly CostNode[]): number {
    return nodes.reduce((total, node) => total + this.cost(node), 0);
  }

  #pathOf(node: CostNode): CostPath {
    return (node.kind === 'name' ? this.#locals.get(node.name)?.path : undefined) ?? this.#paths.get(node) ?? [];
  }

  #argument(node: CostNode): Argument {
    return { node, path: this.#pathOf(node), type: node.type, size: this.#sizeOf(node) };
  }

  #sizeOf(node: CostNode): Size | undefined {
    const known = this.#sizes.get(node) ?? sizeOfForm(node);
    if (known) return known;
    const path = this.#pathOf(node);
    const max = path.length === 0 ? undefined : this.#sizeAt(path);
    if (max !== undefined) {
      const size = { min: 0, max };
      this.#sizes.set(node, size);
      return size;
    }
    if (isScalar(node.type)) return exactly(1);
    return node.kind === 'name' ? this.#locals.get(node.name)?.size : undefined;
  }

  #sizeOrUnknown(node: CostNode): Size {
    return this.#sizeOf(node) ?? unknownSize;
  }

  #unionOf(nodes: readonly CostNode[]): Size {
    return nodes.map((node) => this.#sizeOrUnknown(node)).reduce(union, nodes.length === 0 ? exactly(0) : noSize);
  }

  #entriesOf(node: CostNode): EntrySize | undefined {
    return this.#entries.get(node) ?? (node.kind === 'name' ? this.#locals.get(node.name)?.entries : undefined);
  }

  #joinEntries(node: CostNode, one: CostNode, other: CostNode): void {
    const [left, right] = [this.#entriesOf(one), this.#entriesOf(other)];
    if (left && right)
      this.#entries.set(node, {
        isMap: left.isMap,
        key: union(left.key, right.key),
        value: union(left.value, right.value),
      });
  }

  #copySizes(from: CostNode, to: CostNode): void {
    const [size, entries] = [this.#sizeOf(from), this.#entriesOf(from)];
    if (size) this.#sizes.set(to, size);
    if (entries) this.#entries.set(to, entries);
  }
}

const appended: ReadonlySet<Type['kind'] | undefined> = new Set(['string', 'bytes', 'list'] as const);

/** Of no value at all, so that its union with another one is that. */
const noSize: Size = { min: Number.POSITIVE_INFINITY, max: 0 };

/** What an expression shows of its size. */
function sizeOfForm(node: CostNode): Size | undefined {
  switch (node.kind) {
    case 'list':
      return exactly(node.elements.length);
    case 'map':
      return exactly(node.entries.length);
    case 'literal':
      if (typeof node.value === 'string') return exactly(Array.from(node.value).length);
      return exactly(node.value instanceof Uint8Array ? node.value.length : 1);
    default:
      return undefined;
  }
}

const scalars: ReadonlySet<Type['kind']> = new Set(['bool', 'double', 'duration', 'int', 'timestamp', 'uint']);

const isScalar = (type: Type): boolean => (type.kind === 'optional' ? isScalar(type.of) : scalars.has(type.kind));
