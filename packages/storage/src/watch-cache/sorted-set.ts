import { requireValue } from '@cluster-apiserver/base';

export interface Keyed {
  /** Keys are ordered by their UTF-16 units; for those in ASCII this is the order of their bytes. */
  readonly key: string;
}

/** A changed node is copied, so nodes are small; a scan visits every node, so they are not tiny. */
const nodeMax = 48;
const nodeMin = nodeMax / 3;

/**
 * Permits changes in place: a set changes the nodes that were made under the same edit instead of copying them. Before such
 * a set is handed out, its edit must be dropped, and the next change begins a new one.
 */
export interface Edit {
  readonly edit: true;
}
export const beginEdit = (): Edit => ({ edit: true });

interface Leaf<T> {
  readonly edit: Edit | undefined;
  readonly items: T[];
  readonly children?: undefined;
  size: number;
  first: string;
}
interface Branch<T> {
  readonly edit: Edit | undefined;
  readonly items?: undefined;
  readonly children: Node<T>[];
  size: number;
  first: string;
}
type Node<T> = Leaf<T> | Branch<T>;

/**
 * A sorted set. Adding and removing return a new set that shares nearly all nodes with the old one, so a snapshot costs
 * nothing while writes go on. It is a B-tree with subtree sizes, so counting the items before a key is a walk from the
 * root to a leaf. Under an edit it changes in place.
 */
export class SortedSet<T extends Keyed> {
  readonly #edit: Edit | undefined;
  #root: Node<T> | undefined;

  private constructor(root: Node<T> | undefined, edit: Edit | undefined) {
    this.#root = root;
    this.#edit = edit;
  }

  static empty<T extends Keyed>(): SortedSet<T> {
    return new SortedSet<T>(undefined, undefined);
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
  with(item: T, edit?: Edit): SortedSet<T> {
    return this.withChanged(item.key, () => item, edit);
  }

  /** The set with what takes the place of the item of this key; `change` gets undefined if there is none. */
  withChanged(key: string, change: (before: T | undefined) => T, edit?: Edit): SortedSet<T> {
    if (!this.#root) return this.#withRoot(leaf([change(undefined)], edit), edit);
    const root = insert(this.#root, key, change, edit);
    return this.#withRoot(entryCount(root) > nodeMax ? branch(halves(root, edit), edit) : root, edit);
  }

  /** The set without the item of this key. */
  without(key: string, edit?: Edit): SortedSet<T> {
    let root = this.#root && remove(this.#root, key, edit);
    while (root?.children?.length === 1) root = root.children[0];
    return this.#withRoot(root, edit);
  }

  #withRoot(root: Node<T> | undefined, edit: Edit | undefined): SortedSet<T> {
    if (root === this.#root) return this;
    if (edit === undefined || edit !== this.#edit) return new SortedSet(root, edit);
    this.#root = root;
    return this;
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

const leaf = <T extends Keyed>(items: T[], edit: Edit | undefined): Leaf<T> => ({
  edit,
  items,
  size: items.length,
  first: requireValue(items[0], 'a leaf has items').key,
});

const branch = <T>(children: Node<T>[], edit: Edit | undefined): Branch<T> => ({
  edit,
  children,
  size: children.reduce((sum, { size }) => sum + size, 0),
  first: requireValue(children[0], 'a branch has children').first,
});

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

const mayChange = ({ edit: made }: Node<unknown>, edit: Edit | undefined): boolean =>
  edit !== undefined && made === edit;

/** The node with the changed item. It may have one entry more than it should: the caller then splits it. */
function insert<T extends Keyed>(
  node: Node<T>,
  key: string,
  change: (before: T | undefined) => T,
  edit: Edit | undefined,
): Node<T> {
  if (!node.children) return insertItem(node, key, change, edit);
  const at = childIndexOf(node, key);
  const before = requireValue(node.children[at]);
  const { size } = before;
  const after = insert(before, key, change, edit);
  if (entryCount(after) > nodeMax) return branch(node.children.toSpliced(at, 1, ...halves(after, edit)), edit);
  if (mayChange(node, edit)) {
    node.children[at] = after;
    node.size += after.size - size;
    if (at === 0) node.first = after.first;
    return node;
  }
  if (after === before) return node;
  const children = node.children.with(at, after);
  return { edit, children, size: node.size + after.size - size, first: requireValue(children[0]).first };
}

function insertItem<T extends Keyed>(
  node: Leaf<T>,
  key: string,
  change: (before: T | undefined) => T,
  edit: Edit | undefined,
): Leaf<T> {
  const at = indexOfKey(node.items, key);
  const found = node.items[at];
  const before = found?.key === key ? found : undefined;
  const after = change(before);
  if (after === before) return node;
  if (!mayChange(node, edit))
    return leaf(before ? node.items.with(at, after) : node.items.toSpliced(at, 0, after), edit);
  if (before) node.items[at] = after;
  else {
    node.items.splice(at, 0, after);
    node.size++;
    if (at === 0) node.first = key;
  }
  return node;
}

/** Sets that grow at their end, such as those that are loaded in key order, keep their nodes two thirds full. */
const leftOfHalves = Math.floor((nodeMax * 2) / 3);

function halves<T extends Keyed>(node: Node<T>, edit: Edit | undefined): [Node<T>, Node<T>] {
  return node.children
    ? [branch(node.children.slice(0, leftOfHalves), edit), branch(node.children.slice(leftOfHalves), edit)]
    : [leaf(node.items.slice(0, leftOfHalves), edit), leaf(node.items.slice(leftOfHalves), edit)];
}

/** The node without the item: undefined if it became empty, the same node if there was no such item. */
function remove<T extends Keyed>(node: Node<T>, key: string, edit: Edit | undefined): Node<T> | undefined {
  if (!node.children) return removeItem(node, key, edit);
  const at = childIndexOf(node, key);
  const before = requireValue(node.children[at]);
  const { size } = before;
  const after = remove(before, key, edit);
  if (after === before && after.size === size) return node;
  if (after && entryCount(after) >= nodeMin && mayChange(node, edit)) {
    node.children[at] = after;
    node.size--;
    if (at === 0) node.first = after.first;
    return node;
  }
  const children = node.children.toSpliced(at, 1, ...(after ? [after] : []));
  if (children.length === 0) return undefined;
  return branch(after && entryCount(after) < nodeMin ? mergeSmallChild(children, at, edit) : children, edit);
}

function removeItem<T extends Keyed>(node: Leaf<T>, key: string, edit: Edit | undefined): Leaf<T> | undefined {
  const { items } = node;
  const at = indexOfKey(items, key);
  if (items[at]?.key !== key) return node;
  if (items.length === 1) return undefined;
  if (!mayChange(node, edit)) return leaf(items.toSpliced(at, 1), edit);
  items.splice(at, 1);
  node.size--;
  node.first = requireValue(items[0]).key;
  return node;
}

const entryCount = <T>({ items, children }: Node<T>): number => (items ?? children).length;

/** Merges a small child with a neighbour, if both fit into one node. */
function mergeSmallChild<T extends Keyed>(children: Node<T>[], at: number, edit: Edit | undefined): Node<T>[] {
  const left = at > 0 ? at - 1 : at;
  const [one, other] = [children[left], children[left + 1]];
  if (!one || !other || entryCount(one) + entryCount(other) > nodeMax) return children;
  // Both are children of one branch, so both are leaves or both are branches.
  const whole =
    one.children && other.children
      ? branch([...one.children, ...other.children], edit)
      : leaf([...(one.items ?? []), ...(other.items ?? [])], edit);
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
