/** A promise of ours to ourselves. Never for input: what a client sends is answered, not asserted. */
export function invariant(fact: unknown, whatWouldGoWrong: string): asserts fact {
  if (!fact) throw new InvariantError(whatWouldGoWrong);
}

class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Ends a switch over a closed set: a new member then fails to compile at every place that must decide. */
export function unreachable(value: never): never {
  throw new InvariantError(`a case nobody thought of: ${JSON.stringify(value)}`);
}
