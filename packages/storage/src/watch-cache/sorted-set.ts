import { requireValue, type SyncTask } from '@cluster-apiserver/base';

export interface Keyed {
  /** Keys are ordered by their UTF-16 units; for those in ASCII this is the order of their bytes. */
  readonly key: string;
}

/** A changed node is copied, so nodes are small; a scan visits every node, so they are not tiny. */
const nodeMax = 48;
const nodeMin = nodeMax / 3;

interface Leaf<T> {
  readonly items: readonly T[];
  readonly children?: undefined;
  readonly size: number;
  readonly first: string;
}
interface Branch<T> {
  readonly items?: undefined;
  readonly children: readonly Node<T>[];
  readonly size: number;
  readonly first: string;
}
type Node<T> = Leaf<T> | Branch<T>;

/**
 * An immutable sorted set. Adding and removing return a new set that shares nearly all nodes with the old one, so a snapshot
 * costs nothing while writes go on. It is a B-tree with subtree sizes, so counting the items before a key is a walk from the
 * root to a leaf.
 */
export class SortedSet<T extends Keyed> {
  static readonly #empty = new SortedSet<never>(undefined);
  readonly #root: Node<T> | undefined;

  private constructor(root: Node<T> | undefined) {
    this.#root = root;
  }

  static empty<T extends Keyed>(): SortedSet<T> {
    return SortedSet.#empty;
  }

  /** Builds a set of items in key order without duplicates. */
  static from<T extends Keyed>(items: readonly T[]): SortedSet<T> {
    const build = SortedSet.steps(items);
    for (;;) {
      const step = build.next();
      if (step.done) return step.value;
    }
  }

  /** The same in steps of one node, for sets that are too large for one turn of the event loop. */
  static *steps<T extends Keyed>(items: Iterable<T>): SyncTask<SortedSet<T>> {
    let nodes: Node<T>[] = yield* buildLevel(items, leaf);
    while (nodes.length > 1) nodes = yield* buildLevel(nodes, branch);
    return nodes[0] ? new SortedSet(nodes[0]) : SortedSet.empty();
  }

  get size(): number {
    return this.#root?.size ?? 0;
  }

  get(key: string): T | undefined {
    let node = this.#root;
    while (node?.children) node = node.children[childIndexOf(node, key)];
    const item = node?.items[indexOfKey(node.items, key)];
    return item?.key === key ? item : undefined;
  }

  /** The set with the item, which replaces one with the same key. */
  with(item: T): SortedSet<T> {
    return this.withChanged(item.key, () => item);
  }

  /** The set with what takes the place of the item of this key; `change` gets undefined if there is none. */
  withChanged(key: string, change: (before: T | undefined) => T): SortedSet<T> {
    if (!this.#root) return new SortedSet(leaf([change(undefined)]));
    const root = insert(this.#root, key, change);
    return new SortedSet(entryCount(root) > nodeMax ? branch(halves(root)) : root);
  }

  /** The set without the item of this key. */
  without(key: string): SortedSet<T> {
    if (!this.#root) return this;
    let root = remove(this.#root, key);
    if (root === this.#root) return this;
    while (root?.children?.length === 1) root = root.children[0];
    return root ? new SortedSet(root) : SortedSet.empty();
  }

  /** How many items have a smaller key. */
  countBefore(key: string): number {
    let node = this.#root;
    let count = 0;
    while (node?.children) {
      const at = childIndexOf(node, key);
      for (let i = 0; i < at; i++) count += requireValue(node.children[i]).size;
      node = node.children[at];
    }
    return node ? count + indexOfKey(node.items, key) : 0;
  }

  /** Visits items in order from a key on, until the visitor returns false. */
  visit(from: string, visitor: (item: T) => boolean): void {
    this.visitRuns(from, (items, start) => {
      for (let i = start; i < items.length; i++) if (!visitor(requireValue(items[i]))) return false;
      return true;
    });
  }

  /** The same in runs of neighbours, of which a visitor can handle many with one look at the last. */
  visitRuns(from: string, visitor: (items: readonly T[], start: number) => boolean): void {
    if (this.#root) visitRuns(this.#root, from, visitor);
  }
}

const leaf = <T extends Keyed>(items: readonly T[]): Leaf<T> => ({
  items,
  size: items.length,
  first: requireValue(items[0], 'a leaf has items').key,
});

const branch = <T>(children: readonly Node<T>[]): Branch<T> => ({
  children,
  size: children.reduce((sum, { size }) => sum + size, 0),
  first: requireValue(children[0], 'a branch has children').first,
});

/** New nodes are not full, so that the next insertions do not split them at once. */
const nodeFilled = Math.floor((nodeMax * 2) / 3);

function* buildLevel<P, N>(parts: Iterable<P>, make: (parts: readonly P[]) => N): SyncTask<N[]> {
  const nodes: N[] = [];
  let group: P[] = [];
  for (const part of parts) {
    if (group.length === nodeFilled) {
      nodes.push(make(group));
      group = [];
      yield;
    }
    group.push(part);
  }
  if (group.length > 0) nodes.push(make(group));
  return nodes;
}

/** The index of the first item whose key is not smaller. */
function indexOfKey(items: readonly Keyed[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (requireValue(items[middle]).key < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the last child that starts at or before the key; 0 for keys before all. */
function childIndexOf<T>({ children }: Branch<T>, key: string): number {
  let low = 0;
  let high = children.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if (requireValue(children[middle]).first <= key) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The node with the changed item. It may have one entry more than it should: the caller then splits it. */
function insert<T extends Keyed>(node: Node<T>, key: string, change: (before: T | undefined) => T): Node<T> {
  if (!node.children) {
    const at = indexOfKey(node.items, key);
    const before = node.items[at];
    return leaf(
      before?.key === key ? node.items.with(at, change(before)) : node.items.toSpliced(at, 0, change(undefined)),
    );
  }
  const at = childIndexOf(node, key);
  const before = requireValue(node.children[at]);
  const after = insert(before, key, change);
  const size = node.size + after.size - before.size;
  if (entryCount(after) <= nodeMax) {
    const children = node.children.with(at, after);
    return { children, size, first: requireValue(children[0]).first };
  }
  return branch(node.children.toSpliced(at, 1, ...halves(after)));
}

function halves<T extends Keyed>(node: Node<T>): [Node<T>, Node<T>] {
  const middle = entryCount(node) >>> 1;
  return node.children
    ? [branch(node.children.slice(0, middle)), branch(node.children.slice(middle))]
    : [leaf(node.items.slice(0, middle)), leaf(node.items.slice(middle))];
}

/** The node without the item: undefined if it became empty, the same node if there was no such item. */
function remove<T extends Keyed>(node: Node<T>, key: string): Node<T> | undefined {
  if (!node.children) {
    const at = indexOfKey(node.items, key);
    if (node.items[at]?.key !== key) return node;
    return node.items.length === 1 ? undefined : leaf(node.items.toSpliced(at, 1));
  }
  const at = childIndexOf(node, key);
  const before = requireValue(node.children[at]);
  const after = remove(before, key);
  if (after === before) return node;
  const children = node.children.toSpliced(at, 1, ...(after ? [after] : []));
  if (children.length === 0) return undefined;
  return branch(after && entryCount(after) < nodeMin ? mergeSmallChild(children, at) : children);
}

const entryCount = <T>({ items, children }: Node<T>): number => (items ?? children).length;

/** Merges a small child with a neighbour, if both fit into one node. */
function mergeSmallChild<T extends Keyed>(children: readonly Node<T>[], at: number): readonly Node<T>[] {
  const left = at > 0 ? at - 1 : at;
  const [one, other] = [children[left], children[left + 1]];
  if (!one || !other || entryCount(one) + entryCount(other) > nodeMax) return children;
  // Both are children of one branch, so both are leaves or both are branches.
  const whole =
    one.children && other.children
      ? branch([...one.children, ...other.children])
      : leaf([...(one.items ?? []), ...(other.items ?? [])]);
  return children.toSpliced(left, 2, whole);
}

function visitRuns<T extends Keyed>(
  node: Node<T>,
  from: string,
  visitor: (items: readonly T[], start: number) => boolean,
): boolean {
  if (!node.children) {
    const start = indexOfKey(node.items, from);
    return start === node.items.length || visitor(node.items, start);
  }
  for (let i = childIndexOf(node, from); i < node.children.length; i++)
    if (!visitRuns(requireValue(node.children[i]), from, visitor)) return false;
  return true;
}
