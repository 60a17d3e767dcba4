import type { Call, Clock, Random } from '@cluster-apiserver/base';
import { type HttpsResponse, HttpsError, HttpsTimeoutError, parseAnswer } from '@cluster-apiserver/gates';
import { MalformedTextError, TooManyValuesError } from '@cluster-apiserver/model/json';
import type { ServedKind } from '@cluster-apiserver/model/kind';
import type { PolicyRequest } from '../request.ts';
import { type AdmissionResponse, type ExpectedResponse, parseResponse, createReview } from './admission-review.ts';
import type { CompiledWebhook } from './compiled-webhook.ts';
import { createDenial, createDryRunError, WebhookCallError } from './errors.ts';
import type { WebhookClients } from './webhook-clients.ts';

export interface CallOptions {
  readonly clients: WebhookClients;
  readonly clock: Clock;
  readonly random: Random;
}

/** Fits a base64 patch with the largest object that a request may send. */
const responseBytesMax = 5 * 1024 * 1024;

/** The message of Go, which operators and tools recognize. */
const deadlineExceeded = 'context deadline exceeded';

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
  const body = JSON.stringify(createReview(version, request.reviewRequest(matched, uid)));
  const timeoutMs = getTimeoutMs(webhook, context.call, clock);
  const url = new URL(endpoint.url);
  url.searchParams.set('timeout', `${Math.ceil(timeoutMs / 1000)}s`);
  const headers = { ...endpoint.headers, 'content-type': 'application/json' };
  const answer = await clients
    .getClient(endpoint)
    .send(
      { method: 'POST', url, headers, body, bodyBytesMax: responseBytesMax, timeoutMs: webhook.timeoutMs },
      context.call,
    )
    .catch((error: unknown) => {
      if (!(error instanceof HttpsError)) throw error;
      throw toCallFailure(
        new WebhookCallError(`Post ${JSON.stringify(url.href)}: ${describeError(error)}`, { cause: error }),
      );
    });
  const response = parseResponse(await parseReview(answer, clock), { version, uid, isMutating });
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

function describeError(error: HttpsError): string {
  if (error instanceof HttpsTimeoutError) return deadlineExceeded;
  const { message } = (error.cause ?? {}) as { readonly message?: unknown };
  return typeof message === 'string' ? `${error.message}: ${message}` : error.message;
}

async function parseReview({ status, body }: HttpsResponse, clock: Clock): Promise<unknown> {
  if (status < 200 || status > 206)
    throw toCallFailure(
      new WebhookCallError(`the server answered with the status ${status}`, { code: status < 400 ? 503 : status }),
    );
  try {
    return await parseAnswer(body, clock);
  } catch (error) {
    // The message must not quote the response.
    if (error instanceof MalformedTextError)
      throw toCallFailure(new WebhookCallError('the response is not JSON', { cause: error }));
    if (error instanceof TooManyValuesError)
      throw toCallFailure(new WebhookCallError('the response holds too many values', { cause: error }));
    throw error;
  }
}

/** A domain and a name. As in kube-apiserver, other keys are dropped. */
const isAnnotationKey = (key: string): boolean => /^[^/]+\/[^/]+$/.test(key);
