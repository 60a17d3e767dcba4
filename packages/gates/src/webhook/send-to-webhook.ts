import { type Call, type Clock, DeadlineExceededError, type Random, sleep, awaitWithin } from '@cluster-apiserver/base';
import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import { parseAnswer } from '../https/parse-answer.ts';
import { type HttpsResponse, type HttpsClient, HttpsError, UnusableAnswerError } from '../https/https-client.ts';
import { WebhookError } from './webhook-error.ts';

/** How to call a webhook with JSON. */
export interface WebhookOptions {
  /** Called for each attempt, because the files of the connection can be reloaded. */
  readonly connection: () => WebhookConnection;
  readonly bodyBytesMax: number;
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the pauses between attempts. */
  readonly signal: AbortSignal;
}

export interface WebhookConnection {
  readonly client: Pick<HttpsClient, 'send'>;
  readonly url: URL;
  /** For the `Authorization` header. */
  readonly bearerToken: string | undefined;
}

export interface RetryPolicy {
  readonly triesMax: number;
  readonly firstPauseMs: number;
  /** Factor by which each pause is longer than the previous one. */
  readonly growth: number;
  /** Maximum random extension of a pause, as a ratio, so that concurrent failures do not retry together. */
  readonly jitter: number;
  /** Timeouts of one attempt, and of all together. */
  readonly tryMs: number;
  readonly allMs: number;
}

/** Status codes of temporary failures. */
const retriableCodes = [429, 500, 503, 504];

/** Sends a review and returns the object of the response. Throws like `sendToWebhook`. */
export const requestReview = async (question: object, options: WebhookOptions, call: Call): Promise<JsonObject> =>
  parseObject(await sendToWebhook(JSON.stringify(question), options, call), options.clock);

/**
 * Sends a body and retries temporary failures. Throws a WebhookError without a response in time, and the reason of the call
 * if the call ended.
 */
export async function sendToWebhook(body: string, options: WebhookOptions, call: Call): Promise<HttpsResponse> {
  const { clock, random, retry, signal } = options;
  const endMs = clock.monotonicMs() + retry.allMs;
  for (let tries = 1, pauseMs = retry.firstPauseMs; ; tries++, pauseMs *= retry.growth) {
    const timeoutMs = Math.min(retry.tryMs, endMs - clock.monotonicMs());
    const answer = await post(body, timeoutMs, options, call);
    if (!(answer instanceof WebhookError) && !retriableCodes.includes(answer.status)) return answer;
    const pause = pauseMs + (random.below(1000) / 1000) * retry.jitter * pauseMs;
    if (tries === retry.triesMax || signal.aborted || clock.monotonicMs() + pause >= endMs)
      throw toWebhookError(answer, tries);
    // The signal ends the pause; the loop then stops.
    await awaitWithin(
      clock,
      call,
      sleep(clock, pause, signal).catch(() => {}),
    );
  }
}

async function post(
  body: string,
  timeoutMs: number,
  { connection, bodyBytesMax }: WebhookOptions,
  call: Call,
): Promise<HttpsResponse | WebhookError> {
  try {
    const { client, url, bearerToken } = connection();
    const authorization = bearerToken && { authorization: `Bearer ${bearerToken}` };
    const headers = { 'content-type': 'application/json', ...authorization };
    return await client.send({ method: 'POST', url, headers, body, bodyBytesMax, timeoutMs }, call);
  } catch (error) {
    // The next answer would be the same.
    if (error instanceof UnusableAnswerError) throw new WebhookError(error.message, { cause: error.cause });
    if (error instanceof HttpsError) return new WebhookError(error.message, { cause: error.cause });
    if (error instanceof DeadlineExceededError || (call.signal?.aborted && error === call.signal.reason)) throw error;
    return new WebhookError('cannot send the request', { cause: error });
  }
}

const toWebhookError = (answer: HttpsResponse | WebhookError, tries: number): WebhookError =>
  new WebhookError(`a webhook gave no answer in ${tries} tries`, {
    cause: answer instanceof WebhookError ? answer : new WebhookError(`the status is ${answer.status}`),
  });

async function parseObject({ status, body }: HttpsResponse, clock: Clock): Promise<JsonObject> {
  if (status !== 200 && status !== 201) throw new WebhookError(`a webhook answered with the status ${status}`);
  let value: unknown;
  try {
    value = await parseAnswer(body, clock);
  } catch {
    // Not as the cause: the error would quote the response.
  }
  if (!isJsonObject(value)) throw new WebhookError('a webhook did not answer with an object');
  return value;
}
