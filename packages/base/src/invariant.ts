/** Asserts an internal guarantee. Never for input: invalid requests get an error response. */
export function invariant(fact: unknown, consequence: string): asserts fact {
  if (!fact) throw new InvariantError(consequence);
}

class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Ends a switch over a closed set: a new member then fails to compile at every place that must decide. */
export function unreachable(value: never): never {
  throw new InvariantError(`unhandled case: ${JSON.stringify(value)}`);
}
