/**
 * An invalid token or certificate. The message is for the log and never contains content of the credential. `clientMessage`
 * is configured by the operator and may be sent to the client.
 */
export class TokenRejectedError extends Error {
  override readonly name = 'TokenRejectedError';
  readonly clientMessage: string | undefined;
  constructor(message: string, options: ErrorOptions & { readonly clientMessage?: string | undefined } = {}) {
    super(message, options);
    this.clientMessage = options.clientMessage;
  }
}
