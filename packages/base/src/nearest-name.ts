/** The name that was most likely meant, or undefined when none is close enough to be worth saying. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distance(typed, name) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  // Half of the letters wrong is no longer a typing error.
  return best && best.distance <= Math.max(typed.length, best.name.length) / 2 ? best.name : undefined;
}

/** How many letters must be inserted, left out or replaced to make one of the other (Levenshtein). */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of Array.from(from).entries()) {
    const current = [row + 1];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = at(above, column - 1) + (letter === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, at(above, column) + 1, at(current, column - 1) + 1));
    }
    above = current;
  }
  return at(above, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
