import { type StatusDetails, StatusError } from '@cluster-apiserver/model';

/** A failed call, to which `failurePolicy` applies. The message contains nothing of the object. */
export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
  /** The HTTP status of the webhook, or that of a service that is unavailable; for metrics. */
  readonly code: number;

  constructor(message: string, { code = 503, ...options }: ErrorOptions & { readonly code?: number } = {}) {
    super(message, options);
    this.code = code;
  }
}

/** A webhook denied the request. */
export class WebhookDenialError extends Error {
  override readonly name = 'WebhookDenialError';
  readonly status: StatusError;

  constructor(status: StatusError) {
    super(status.message);
    this.status = status;
  }
}

/** The Status of a denial. Absent strings are empty, and an absent code is 0. */
export interface WebhookResult {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details: StatusDetails | undefined;
}

/** The codes of HTTP errors: a webhook cannot deny a request with a code of success. */
const codeMin = 400;
const codeMax = 599;

export function createDenial(webhook: string, { code, reason, message, details }: WebhookResult): WebhookDenialError {
  const denied = `admission webhook ${JSON.stringify(webhook)} denied the request`;
  const explanation = message || reason;
  return new WebhookDenialError(
    new StatusError('Forbidden', explanation ? `${denied}: ${explanation}` : `${denied} without explanation`, details, {
      code: code < codeMin ? codeMin : Math.min(code, codeMax),
      statedReason: reason,
    }),
  );
}

export const createDryRunError = (webhook: string): StatusError =>
  new StatusError('BadRequest', `admission webhook ${JSON.stringify(webhook)} does not support dry run`);

/** The answer for a failed call with the failure policy `Fail`. The failure itself is logged where it occurs. */
export const createCallFailure = (webhook: string, { message }: WebhookCallError): StatusError =>
  createInternalError(`failed calling webhook ${JSON.stringify(webhook)}: ${message}`, { isLogged: true });

export const createInternalError = (message: string, options?: { readonly isLogged: boolean }): StatusError =>
  new StatusError('InternalError', `Internal error occurred: ${message}`, { causes: [{ message }] }, options);
