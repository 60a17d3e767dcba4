import type { AuthorizerType } from '@cluster-apiserver/config';
import type { Metrics } from '@cluster-apiserver/telemetry';

/** Metrics of an authorization webhook. */
export type WebhookMeasures = ReturnType<ReturnType<typeof createAuthorizationMeasures>['webhook']>;

export type WebhookFailure = 'error' | 'timeout';

/** Upstream's buckets. */
const webhookSecondsBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const conditionSecondsBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];

/** The authorization metrics of kube-apiserver. Authorizer names come from the operator, so their number is bounded. */
export function createAuthorizationMeasures(metrics: Metrics) {
  const decisions = metrics.counter({
    name: 'apiserver_authorization_decisions_total',
    help: 'Terminal decisions of an authorizer, by its type and name.',
    labels: { type: 'any', name: 'any', decision: ['allowed', 'denied'] },
  });
  const results = ['success', 'error', 'timeout'];
  const evaluations = metrics.counter({
    name: 'apiserver_authorization_webhook_evaluations_total',
    help: 'Number of reviews requested from authorization webhooks.',
    labels: { name: 'any', result: results },
  });
  const duration = metrics.histogram({
    name: 'apiserver_authorization_webhook_duration_seconds',
    help: 'Duration of reviews by authorization webhooks, including all attempts.',
    labels: { name: 'any', result: results },
    buckets: webhookSecondsBuckets,
  });
  const failOpen = metrics.counter({
    name: 'apiserver_authorization_webhook_evaluations_fail_open_total',
    help: 'Number of requests passed to the next authorizer because a webhook failed.',
    labels: { name: 'any', result: results },
  });
  const rejected = metrics.counter({
    name: 'apiserver_authorization_webhook_rejected_total',
    help: 'Number of reviews that were not sent because the webhook does not respond.',
    labels: { name: 'any' },
  });
  const ofCondition = { type: 'any', name: 'any' } as const;
  const conditionSeconds = metrics.histogram({
    name: 'apiserver_authorization_match_condition_evaluation_seconds',
    help: 'Evaluation time of the match conditions of an authorizer.',
    labels: ofCondition,
    buckets: conditionSecondsBuckets,
  });
  const conditionErrors = metrics.counter({
    name: 'apiserver_authorization_match_condition_evaluation_errors_total',
    help: 'Requests for which match conditions of an authorizer could not be evaluated and none was false.',
    labels: ofCondition,
  });
  const exclusions = metrics.counter({
    name: 'apiserver_authorization_match_condition_exclusions_total',
    help: 'Requests that a match condition excluded from an authorizer.',
    labels: ofCondition,
  });
  return {
    /** Counts the decisions of one authorizer. */
    decided: (type: AuthorizerType, name: string) => {
      const labels = {
        allowed: { type, name, decision: 'allowed' },
        denied: { type, name, decision: 'denied' },
      };
      return (decision: 'allowed' | 'denied'): void => decisions.add(labels[decision]);
    },
    webhook: (name: string) => ({
      /** A review was sent, with all attempts that it took. */
      evaluated: (result: 'success' | WebhookFailure, seconds: number): void => {
        evaluations.add({ name, result });
        duration.observe({ name, result }, seconds);
      },
      /** A request went on to other authorizers without an answer. */
      failedOpen: (result: WebhookFailure): void => failOpen.add({ name, result }),
      /** A request was not sent, because the webhook did not answer others. */
      rejected: (): void => rejected.add({ name }),
      conditions: {
        evaluated: (seconds: number): void => conditionSeconds.observe({ type: 'Webhook', name }, seconds),
        excluded: (): void => exclusions.add({ type: 'Webhook', name }),
        failed: (): void => conditionErrors.add({ type: 'Webhook', name }),
      },
    }),
  };
}
