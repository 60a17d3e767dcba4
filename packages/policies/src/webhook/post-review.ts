import type { Call, Clock } from '@cluster-apiserver/base';
import { type HttpsResponse, HttpsError, HttpsTimeoutError, parseAnswer } from '@cluster-apiserver/gates';
import { MalformedTextError, TooManyValuesError } from '@cluster-apiserver/model/json';
import { WebhookCallError } from './errors.ts';
import type { Endpoint, WebhookClients } from './webhook-clients.ts';

export interface PostOptions {
  readonly clients: WebhookClients;
  readonly clock: Clock;
}

/** A review for a webhook. */
export interface PostedReview {
  readonly endpoint: Endpoint;
  readonly url: URL;
  readonly review: object;
  readonly timeoutMs: number;
}

/** Fits a base64 patch with the largest object that a request may send. */
const responseBytesMax = 5 * 1024 * 1024;

/** The message of Go, which operators and tools recognize. */
const deadlineExceeded = 'context deadline exceeded';

/** Returns the answer. Throws a WebhookCallError if there is none, and the error of the call if that ends first. */
export async function postReview(
  { endpoint, url, review, timeoutMs }: PostedReview,
  { clients, clock }: PostOptions,
  call: Call,
): Promise<unknown> {
  const body = JSON.stringify(review);
  const headers = { ...endpoint.headers, 'content-type': 'application/json' };
  const answer = await clients
    .getClient(endpoint)
    .send({ method: 'POST', url, headers, body, bodyBytesMax: responseBytesMax, timeoutMs }, call)
    .catch((error: unknown) => {
      if (!(error instanceof HttpsError)) throw error;
      throw new WebhookCallError(`Post ${JSON.stringify(url.href)}: ${describeError(error)}`, { cause: error });
    });
  return parseReview(answer, clock);
}

function describeError(error: HttpsError): string {
  if (error instanceof HttpsTimeoutError) return deadlineExceeded;
  const { message } = (error.cause ?? {}) as { readonly message?: unknown };
  return typeof message === 'string' ? `${error.message}: ${message}` : error.message;
}

/** In the words of client-go, which operators and tools recognize. What the server says of it is not quoted. */
function describeStatus(status: number): string {
  const known = statusTexts.get(status);
  if (known !== undefined) return known;
  return status < 500
    ? `the server responded with the status code ${status} but did not return more information`
    : 'an error on the server ("unknown") has prevented the request from succeeding';
}

const statusTexts: ReadonlyMap<number, string> = new Map([
  [400, 'the server rejected our request for an unknown reason'],
  [401, 'the server has asked for the client to provide credentials'],
  [404, 'the server could not find the requested resource'],
  [405, 'the server does not allow this method on the requested resource'],
  [409, 'the server reported a conflict'],
  [422, 'the server rejected our request due to an error in our request'],
  [429, 'the server has received too many requests and has asked us to try again later'],
  [503, 'the server is currently unable to handle the request'],
  [504, 'the server was unable to return a response in the time allotted, but may still be processing the request'],
]);

async function parseReview({ status, body }: HttpsResponse, clock: Clock): Promise<unknown> {
  if (status < 200 || status > 206)
    throw new WebhookCallError(describeStatus(status), { code: status < 400 ? 503 : status });
  try {
    return await parseAnswer(body, clock);
  } catch (error) {
    // The message must not quote the response.
    if (error instanceof MalformedTextError) throw new WebhookCallError('the response is not JSON', { cause: error });
    if (error instanceof TooManyValuesError)
      throw new WebhookCallError('the response holds too many values', { cause: error });
    throw error;
  }
}
