import { type Call, type Clock, DeadlineExceededError, type Random, sleep, withinCall } from '@cluster-apiserver/base';
import { type HttpsResponse, type HttpsClient, HttpsError } from '../https/https-client.ts';
import { WebhookError } from './webhook-error.ts';

/** Somebody outside who is asked with JSON. Each kind of webhook has its own bounds. */
export interface WebhookOptions {
  /** Asked for each time, because the files that it comes from change while the server runs. */
  readonly connection: () => WebhookConnection;
  readonly bodyBytesMax: number;
  readonly retry: RetryPolicy;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the pauses between tries. */
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
  /** Each pause is longer than the one before by this factor. */
  readonly growth: number;
  /** Pauses are longer by up to this part, so that those who failed together do not come back together. */
  readonly jitter: number;
  /** One try, and all of them. */
  readonly tryMs: number;
  readonly allMs: number;
}

/** Too many requests, and what a server says that may be well again a moment later. */
const retriableCodes = [429, 500, 503, 504];

/** Sends a question, and gives the object that is its answer. Throws like `sendToWebhook`. */
export const requestReview = async (question: object, options: WebhookOptions, call: Call): Promise<object> =>
  parseObject(await sendToWebhook(JSON.stringify(question), options, call));

/**
 * Sends a body until there is an answer; throws a WebhookError when there is none in time, and what ended the call when
 * it was the call that ended.
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
    // The loop sees that the signal has ended it.
    await withinCall(
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
    if (error instanceof HttpsError) return new WebhookError(error.message, { cause: error.cause });
    if (error instanceof DeadlineExceededError || (call.signal?.aborted && error === call.signal.reason)) throw error;
    return new WebhookError('it cannot be asked', { cause: error });
  }
}

const toWebhookError = (answer: HttpsResponse | WebhookError, tries: number): WebhookError =>
  new WebhookError(`a webhook gave no answer in ${tries} tries`, {
    cause: answer instanceof WebhookError ? answer : new WebhookError(`the status is ${answer.status}`),
  });

function parseObject({ status, body }: HttpsResponse): object {
  if (status !== 200 && status !== 201) throw new WebhookError(`a webhook answered with the status ${status}`);
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The error would show a piece of the answer.
  }
  if (typeof value !== 'object' || value === null) throw new WebhookError('a webhook did not answer with an object');
  return value;
}
