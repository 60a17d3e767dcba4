import { StatusError } from '@cluster-apiserver/model';

/**
 * An invalid token or certificate. The message is for the log and never contains content of the credential. `clientMessage`
 * is configured by the operator and may be sent to the client.
 */
export class TokenRejectedError extends Error {
  override readonly name = 'TokenRejectedError';
  readonly clientMessage: string | undefined;
  /** For the audit event of the request. */
  readonly annotations: Readonly<Record<string, string>>;
  constructor(message: string, options: RejectionOptions = {}) {
    super(message, options);
    this.clientMessage = options.clientMessage;
    this.annotations = options.annotations ?? {};
  }
}

interface RejectionOptions extends ErrorOptions {
  readonly clientMessage?: string | undefined;
  readonly annotations?: Readonly<Record<string, string>>;
}

/**
 * The token could not be checked, because any client can send tokens that wait. Not a rejection: a valid token may be among
 * them, and its client should try again.
 */
export const tooManyWaitingTokens = (): StatusError =>
  new StatusError('TooManyRequests', 'too many tokens wait to be checked, please try again later', {
    retryAfterSeconds: 1,
  });
