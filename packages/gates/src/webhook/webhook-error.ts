/** A webhook returned no usable response. The message contains nothing of the request. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}
