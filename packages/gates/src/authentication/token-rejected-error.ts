/**
 * A token or a certificate that is nobody's, and certainly so. The message is for our log and never holds what the
 * credential says; what the caller may be told is what the operator wrote for this.
 */
export class TokenRejectedError extends Error {
  override readonly name = 'TokenRejectedError';
  readonly clientMessage: string | undefined;
  constructor(message: string, options: ErrorOptions & { readonly clientMessage?: string | undefined } = {}) {
    super(message, options);
    this.clientMessage = options.told;
  }
}
