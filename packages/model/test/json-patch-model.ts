import { sortedText } from './random-json.ts';

/**
 * JSON patch once more, slow and plain: a document is a tree of pairs, every operation builds the whole tree anew, and
 * undefined says that the patch fails. Written from RFC 6902 and the one rule that an absent member reads as null.
 */
export function patchedByModel(document: unknown, operations: readonly unknown[]): { result: unknown } | undefined {
  let tree: Tree | undefined = treeOf(document);
  for (const operation of operations as Record<string, unknown>[]) {
    tree = performed(tree, operation);
    if (!tree) return undefined;
  }
  return { result: valueOf(tree) };
}

type Tree =
  | { readonly kind: 'leaf'; readonly value: unknown }
  | { readonly kind: 'list'; readonly items: readonly Tree[] }
  | { readonly kind: 'map'; readonly pairs: readonly (readonly [string, Tree])[] };

const nothing: Tree = { kind: 'leaf', value: null };

function treeOf(value: unknown): Tree {
  if (Array.isArray(value)) return { kind: 'list', items: value.map(treeOf) };
  if (typeof value !== 'object' || value === null) return { kind: 'leaf', value };
  return { kind: 'map', pairs: Object.entries(value).map(([key, member]) => [key, treeOf(member)]) };
}

function valueOf(tree: Tree): unknown {
  if (tree.kind === 'leaf') return tree.value;
  if (tree.kind === 'list') return tree.items.map(valueOf);
  return Object.fromEntries(tree.pairs.map(([key, member]) => [key, valueOf(member)]));
}

function performed(tree: Tree, operation: Record<string, unknown>): Tree | undefined {
  const path = stepsOf(operation['path']);
  const from = stepsOf(operation['from']);
  const value = Object.hasOwn(operation, 'value') ? treeOf(operation['value']) : undefined;
  if (!path) return undefined;
  switch (operation['op']) {
    case 'add':
      return value && put(tree, path, value, true);
    case 'replace':
      return value && put(tree, path, value, false);
    case 'remove':
      return path.length === 0 ? undefined : taken(tree, path);
    case 'test': {
      const found = read(tree, path);
      return found && value && sortedText(valueOf(found)) === sortedText(valueOf(value)) ? tree : undefined;
    }
    case 'copy': {
      const found = from && read(tree, from);
      return found && put(tree, path, found, true);
    }
    case 'move': {
      if (!from || (path.length > from.length && from.every((step, at) => step === path[at]))) return undefined;
      if (from.length === 0) return tree;
      const found = read(tree, from);
      const rest = found && taken(tree, from);
      return rest && put(rest, path, found, true);
    }
    default:
      return undefined;
  }
}

function stepsOf(pointer: unknown): string[] | undefined {
  if (typeof pointer !== 'string') return undefined;
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) return undefined;
  const steps = pointer.slice(1).split('/');
  if (steps.some((step) => step.replaceAll('~0', '').replaceAll('~1', '').includes('~'))) return undefined;
  return steps.map((step) => step.split('~1').join('/').split('~0').join('~'));
}

const indexIn = (step: string, places: number): number | undefined =>
  Array.from({ length: places }, (_, at) => String(at)).indexOf(step) >= 0 ? Number(step) : undefined;

function read(tree: Tree, [step, ...rest]: readonly string[]): Tree | undefined {
  if (step === undefined) return tree;
  if (tree.kind === 'leaf') return undefined;
  if (tree.kind === 'list') {
    const at = indexIn(step, tree.items.length);
    return at === undefined ? undefined : read(tree.items[at] as Tree, rest);
  }
  const pair = tree.pairs.find(([key]) => key === step);
  if (pair) return read(pair[1], rest);
  return rest.length === 0 ? nothing : undefined;
}

/** The tree after a change of what holds the last step; undefined when there is no way to it. */
function changed(
  tree: Tree,
  path: readonly string[],
  change: (holder: Tree, step: string) => Tree | undefined,
): Tree | undefined {
  const [step, ...rest] = path as [string, ...string[]];
  if (rest.length === 0) return change(tree, step);
  if (tree.kind === 'leaf') return undefined;
  const inner = tree.kind === 'map' && !tree.pairs.some(([key]) => key === step) ? undefined : read(tree, [step]);
  const next = inner && changed(inner, rest, change);
  if (!next) return undefined;
  return tree.kind === 'list'
    ? { kind: 'list', items: tree.items.map((item, at) => (String(at) === step ? next : item)) }
    : { kind: 'map', pairs: tree.pairs.map((pair) => (pair[0] === step ? [step, next] : pair)) };
}

function put(tree: Tree, path: readonly string[], value: Tree, insert: boolean): Tree | undefined {
  if (path.length === 0) return value;
  return changed(tree, path, (holder, step) => {
    if (holder.kind === 'leaf') return undefined;
    if (holder.kind === 'map')
      return { kind: 'map', pairs: [...holder.pairs.filter(([key]) => key !== step), [step, value]] };
    const { items } = holder;
    const at = insert && step === '-' ? items.length : indexIn(step, items.length + (insert ? 1 : 0));
    if (at === undefined) return undefined;
    return { kind: 'list', items: [...items.slice(0, at), value, ...items.slice(insert ? at : at + 1)] };
  });
}

function taken(tree: Tree, path: readonly string[]): Tree | undefined {
  return changed(tree, path, (holder, step) => {
    if (holder.kind === 'leaf') return undefined;
    if (holder.kind === 'map') {
      const rest = holder.pairs.filter(([key]) => key !== step);
      return rest.length < holder.pairs.length ? { kind: 'map', pairs: rest } : undefined;
    }
    const at = indexIn(step, holder.items.length);
    return at === undefined ? undefined : { kind: 'list', items: holder.items.filter((_, index) => index !== at) };
  });
}
