/**
 * Finds the fewest numbers that still fail by leaving out ever smaller parts (delta debugging). Returns the best result
 * within the limit of runs, and undefined if not even all numbers fail.
 */
export async function shrink(
  numbers: readonly number[],
  fails: (numbers: readonly number[]) => Promise<boolean>,
  runsMax: number,
): Promise<readonly number[] | undefined> {
  let runs = 1;
  if (!(await fails(numbers))) return undefined;
  let smallest = numbers;
  for (let parts = 2; smallest.length > 1 && runs < runsMax; ) {
    const size = Math.ceil(smallest.length / parts);
    let found: readonly number[] | undefined;
    // Try single parts first: most failures need one input.
    for (let at = 0; at < smallest.length && !found && runs < runsMax; at += size, runs++) {
      const part = smallest.slice(at, at + size);
      if (await fails(part)) found = part;
    }
    if (found) {
      smallest = found;
      parts = 2;
      continue;
    }
    for (let at = 0; parts > 2 && at < smallest.length && !found && runs < runsMax; at += size, runs++) {
      const rest = smallest.toSpliced(at, size);
      if (await fails(rest)) found = rest;
    }
    if (found) {
      smallest = found;
      parts = Math.max(2, parts - 1);
    } else if (size === 1) break;
    else parts = Math.min(smallest.length, parts * 2);
  }
  return smallest;
}
