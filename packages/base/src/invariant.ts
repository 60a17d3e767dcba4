/** Asserts an internal guarantee. Never for input: invalid requests get an error response. */
export function invariant(fact: unknown, consequence: string): asserts fact {
  if (!fact) throw new InvariantError(consequence);
}

/** Returns a value that the type allows to be missing and that is there by a guarantee which the type cannot state. */
export function requireValue<T>(value: T, guarantee = 'the value is there'): NonNullable<T> {
  if (value === undefined || value === null) throw new InvariantError(guarantee);
  return value;
}

class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

/** Ends a switch over a closed set: a new member then fails to compile at every place that must decide. */
export function unreachable(value: never): never {
  throw new InvariantError(`unhandled case: ${JSON.stringify(value)}`);
}
