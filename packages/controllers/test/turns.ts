export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Nothing in memory waits for anything but its turn, or the clock; so what does not come within these never comes. */
const turnsMax = 20_000;

export async function until(what: string, fact: () => Promise<boolean> | boolean): Promise<void> {
  for (let turns = 0; turns < turnsMax; turns++) {
    if (await fact()) return;
    await turn();
  }
  throw new Error(`never came: ${what}`);
}

/** Enough turns for what follows from what happened so far. */
export async function quietTurns(): Promise<void> {
  for (let turns = 0; turns < 100; turns++) await turn();
}
