import { type Clock, callUntil, type Random } from '@cluster-apiserver/base';
import { sendToWebhook, type WebhookConnection } from '@cluster-apiserver/gates';

export interface AuditWebhookOptions {
  /** Called for each attempt, because the files of the connection can be reloaded. */
  readonly connection: () => WebhookConnection;
  readonly initialBackoffMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Ends the pauses between attempts. */
  readonly signal: AbortSignal;
}

/** As in kube-apiserver. */
const attemptsMax = 5;
const growth = 1.5;
const jitter = 0.2;
const attemptMs = 30_000;
/** Only the status of the response matters. */
const responseBytesMax = 64 * 1024;

/** Sends events as an EventList. Throws if the webhook does not accept them. */
export function createAuditWebhook(options: AuditWebhookOptions): (events: readonly string[]) => Promise<void> {
  const { initialBackoffMs, clock } = options;
  const pausesMs = Array.from({ length: attemptsMax }, (_, at) => initialBackoffMs * growth ** at * (1 + jitter));
  const allMs = pausesMs.reduce((sum, pauseMs) => sum + pauseMs + attemptMs, 0);
  const retry = { triesMax: attemptsMax, firstPauseMs: initialBackoffMs, growth, jitter, tryMs: attemptMs, allMs };
  return async (events) => {
    const body = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${events.join(',')}]}`;
    const call = callUntil(clock.monotonicMs() + allMs);
    const { status } = await sendToWebhook(body, { ...options, bodyBytesMax: responseBytesMax, retry }, call);
    if (status < 200 || status > 299) throw new Error(`the audit webhook responded with the status ${status}`);
  };
}
