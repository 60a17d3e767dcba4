/**
 * The circles of a graph: each is a set of nodes that reach each other, as one text of their sorted names. By Tarjan's
 * algorithm.
 */
export function findCircles(edges: ReadonlyMap<string, readonly string[]>): string[] {
  const circles: string[] = [];
  const numbers = new Map<string, number>();
  /** The smallest number that a node reaches among the open ones. */
  const reached = new Map<string, number>();
  const open: string[] = [];
  const visit = (node: string): void => {
    const number = numbers.size;
    numbers.set(node, number);
    reached.set(node, number);
    open.push(node);
    for (const next of edges.get(node) ?? []) {
      if (!edges.has(next)) continue;
      if (!numbers.has(next)) visit(next);
      if (open.includes(next)) reached.set(node, Math.min(reached.get(node) ?? number, reached.get(next) ?? number));
    }
    if (reached.get(node) !== number) return;
    const circle = open.splice(open.indexOf(node));
    if (circle.length > 1) circles.push(circle.toSorted().join(' '));
  };
  for (const node of edges.keys()) if (!numbers.has(node)) visit(node);
  return circles.toSorted();
}
