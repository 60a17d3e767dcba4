import { type Call, type Clock, type Random, sleep } from '@cluster-apiserver/base';
import type { Post, PostAnswer } from './https-post.ts';
import { WebhookError } from './webhook-error.ts';

export interface WebhookOptions {
  readonly post: Post;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends whatever is under way. */
  readonly signal: AbortSignal;
}

/** As in kube-apiserver: five tries, half a second after the first, and then half as long again each time. */
const triesMax = 5;
const firstPauseMs = 500;
const growth = 1.5;
/** Up to a fifth more, so that those who failed together do not come back together. */
const jitter = 0.2;
/** One try, and all of them: a request waits for this. */
const tryMs = 10_000;
const allMs = 30_000;

/** Too many requests, and what a server says that may be well again a moment later. */
const passing = [429, 500, 503, 504];

/** Asks until there is an answer; throws a WebhookError when there is none in time. */
export async function askWebhook(question: object, options: WebhookOptions, call: Call): Promise<object> {
  const { post, clock, random } = options;
  const body = JSON.stringify(question);
  const endMs = Math.min(clock.monotonicMs() + allMs, call.deadlineMs);
  const signal = call.signal ? AbortSignal.any([options.signal, call.signal]) : options.signal;
  for (let tries = 1, pauseMs = firstPauseMs; ; tries++, pauseMs *= growth) {
    const answer = await within(Math.min(tryMs, endMs - clock.monotonicMs()), clock, signal, (ends) =>
      post(body, ends),
    ).catch(asWebhookError);
    if (!(answer instanceof WebhookError) && !passing.includes(answer.status)) return objectIn(answer);
    const pause = pauseMs + (random.below(1000) / 1000) * jitter * pauseMs;
    if (tries === triesMax || signal.aborted || clock.monotonicMs() + pause >= endMs) throw asFailure(answer, tries);
    await sleep(clock, pause, signal).catch(() => {}); // The loop sees that the signal has ended it.
  }
}

const asWebhookError = (error: unknown): WebhookError =>
  error instanceof WebhookError ? error : new WebhookError('it cannot be asked', { cause: error });

const asFailure = (answer: PostAnswer | WebhookError, tries: number): WebhookError =>
  new WebhookError(`a webhook gave no answer in ${tries} tries`, {
    cause: answer instanceof WebhookError ? answer : new WebhookError(`the status is ${answer.status}`),
  });

async function within<T>(
  ms: number,
  clock: Clock,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const cancel = clock.after(Math.max(ms, 0), () => late.abort(new Error('no whole answer in time')));
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    cancel();
  }
}

function objectIn({ status, body }: PostAnswer): object {
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
