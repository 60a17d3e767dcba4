import { StatusError } from '@cluster-apiserver/model';

/**
 * An invalid token or certificate. The message is for the log and never contains content of the credential. `clientMessage`
 * is configured by the operator and may be sent to the client.
 */
export class TokenRejectedError extends Error {
  override readonly name = 'TokenRejectedError';
  readonly clientMessage: string | undefined;
  /** It was not checked, because its webhook or issuer is unavailable, which has lines of its own in the log. */
  readonly isUnchecked: boolean;
  /** For the audit event of the request. */
  readonly annotations: Readonly<Record<string, string>>;
  constructor(message: string, options: RejectionOptions = {}) {
    super(message, options);
    this.clientMessage = options.clientMessage;
    this.isUnchecked = options.isUnchecked ?? false;
    this.annotations = options.annotations ?? {};
  }
}

interface RejectionOptions extends ErrorOptions {
  readonly clientMessage?: string | undefined;
  readonly isUnchecked?: boolean;
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
