import type { Call, Clock, Random } from '@cluster-apiserver/base';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { PolicyRequest } from '../request.ts';
import { type AdmissionResponse, type ExpectedResponse, parseResponse, createReview } from './admission-review.ts';
import type { CompiledWebhook } from './compiled-webhook.ts';
import { createDenial, createDryRunError, WebhookCallError } from './errors.ts';
import { type PostOptions, postReview } from './post-review.ts';

export interface CallOptions extends PostOptions {
  readonly random: Random;
}

/**
 * Sends a write to one webhook, and adds its warnings and audit annotations to the request. Throws a WebhookCallError if
 * there is no valid answer, a WebhookDenialError for a denial, and the error of the request if that ends first. No
 * credentials are sent.
 */
export async function callWebhook(
  webhook: CompiledWebhook,
  matched: ServedKind,
  request: PolicyRequest,
  { isMutating }: Pick<ExpectedResponse, 'isMutating'>,
  { clients, clock, random }: CallOptions,
): Promise<AdmissionResponse> {
  const { context } = request;
  const { name, version, endpoint } = webhook;
  if (context.dryRun && webhook.hasSideEffects) throw createDryRunError(name);
  if (version === undefined)
    throw new WebhookCallError('webhook does not accept known AdmissionReview versions (v1, v1beta1)', { code: 400 });
  if (endpoint instanceof WebhookCallError) throw toCallFailure(endpoint);

  const uid = random.uuid();
  const review = createReview(version, request.reviewRequest(matched, uid));
  const timeoutMs = getTimeoutMs(webhook, context.call, clock);
  const url = new URL(endpoint.url);
  url.searchParams.set('timeout', `${Math.ceil(timeoutMs / 1000)}s`);
  const answer = await postReview(
    { endpoint, url, review, timeoutMs: webhook.timeoutMs },
    { clients, clock },
    context.call,
  ).catch((error: unknown) => {
    throw error instanceof WebhookCallError ? toCallFailure(error) : error;
  });
  const response = parseResponse(answer, { version, uid, isMutating });
  for (const [key, value] of response.auditAnnotations)
    if (isAnnotationKey(`${name}/${key}`)) context.annotate(`${name}/${key}`, value);
  for (const warning of response.warnings) if (warning !== '') context.warn(warning);
  if (!response.allowed) throw createDenial(name, response.result);
  return response;
}

/** The time for the answer; the webhook receives it in whole seconds. */
const getTimeoutMs = ({ timeoutMs }: CompiledWebhook, { deadlineMs }: Call, clock: Clock): number =>
  Math.max(1, Math.min(timeoutMs, deadlineMs - clock.monotonicMs()));

const toCallFailure = ({ message, code, cause }: WebhookCallError): WebhookCallError =>
  new WebhookCallError(`failed to call webhook: ${message}`, { code, cause });

/** A domain and a name. As in kube-apiserver, other keys are dropped. */
const isAnnotationKey = (key: string): boolean => /^[^/]+\/[^/]+$/.test(key);
