/** The most similar name, for the suggestion in an error message. Undefined if none is similar enough. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: distance(typed, name) }))
    .sort((a, b) => a.distance - b.distance);
  const best = ranked[0];
  // More than half of the letters differ: this is no typing error.
  return best && best.distance <= Math.max(typed.length, best.name.length) / 2 ? best.name : undefined;
}

/** The Levenshtein distance: how many letters must be inserted, removed or replaced. */
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
