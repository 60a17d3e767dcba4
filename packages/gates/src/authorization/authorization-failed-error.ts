/**
 * An authorizer made no decision, and has logged why. The message is for clients and names nothing but the authorizer and
 * the kind of failure.
 */
export class AuthorizationFailedError extends Error {
  override readonly name = 'AuthorizationFailedError';
}

/** Whether the error of a decision, which may combine those of several authorizers, is already logged. */
export const isLoggedError = (error: Error): boolean =>
  error instanceof AuthorizationFailedError || (error instanceof AggregateError && error.errors.every(isLoggedError));
