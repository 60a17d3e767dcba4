/** A webhook that gives no answer, or none that can be used. It shows nothing of what was asked. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}
