import type { Call } from '@cluster-apiserver/base';
import type { JsonObject } from '@cluster-apiserver/model/json';
import { any, boolean, jsonField, list, map, object, string } from '@cluster-apiserver/model/schema';
import { requestReview, type RetryPolicy, type WebhookOptions } from '../../webhook/send-to-webhook.ts';
import { decodeAnswer, WebhookError } from '../../webhook/webhook-error.ts';
import { addAuthenticatedGroup } from '../user-groups.ts';
import type { TokenAnswer, TokenAuthenticator } from '../token-authenticator.ts';
import { TokenRejectedError, tooManyWaitingTokens } from '../token-rejected-error.ts';

/** As in kube-apiserver: five attempts, with a pause of half a second that grows by half each time. */
const retry: RetryPolicy = {
  triesMax: 5,
  firstPauseMs: 500,
  growth: 1.5,
  jitter: 0.2,
  tryMs: 10_000,
  allMs: 30_000,
};
/** A review is some kilobytes. */
const reviewBytesMax = 1024 * 1024;

export interface WebhookTokensOptions extends Omit<WebhookOptions, 'retry' | 'bodyBytesMax'> {
  readonly version: 'v1' | 'v1beta1';
  /** Audiences of this API. */
  readonly apiAudiences: readonly string[];
  /** Called after each review, with the error of one that failed. */
  readonly reviewed: (error: Error | undefined) => void;
}

/** Maximum number of reviews in flight: any client can send unknown tokens, and each causes a review. */
const inFlightMax = 1_000;

/**
 * Authenticates tokens by a TokenReview to a webhook. Fails closed: without a valid response the token is rejected.
 */
export function createTokenWebhook(options: WebhookTokensOptions): TokenAuthenticator {
  const { version, apiAudiences, reviewed } = options;
  const webhook: WebhookOptions = { ...options, retry, bodyBytesMax: reviewBytesMax };
  let inFlight = 0;
  const review = async (token: string, audiences: readonly string[], call: Call): Promise<TokenAnswer | undefined> => {
    const spec = { token, ...(audiences.length > 0 && { audiences }) };
    const question = { apiVersion: apiVersionOf(version), kind: 'TokenReview', spec };
    const answer = await requestReview(question, webhook, call);
    return parseReview(answer, version, audiences, apiAudiences);
  };
  return {
    authenticateToken: async (token, call, audiences = apiAudiences) => {
      if (inFlight >= inFlightMax) throw tooManyWaitingTokens();
      inFlight++;
      try {
        const answer = await review(token, audiences, call);
        reviewed(undefined);
        return answer;
      } catch (cause) {
        if (!(cause instanceof WebhookError)) throw cause;
        reviewed(cause);
        throw new TokenRejectedError('the token webhook is of no use', { cause, isUnchecked: true });
      } finally {
        inFlight--;
      }
    },
  };
}

const apiVersionOf = (version: WebhookTokensOptions['version']): string => `authentication.k8s.io/${version}`;

const userSchema = object({
  username: jsonField(string, '', 'required'),
  uid: jsonField(string, ''),
  groups: jsonField(list(string, 'atomic'), '', 'always'),
  extra: jsonField(map(list(string, 'atomic')), ''),
});
const statusSchema = object({
  authenticated: jsonField(boolean, ''),
  user: jsonField(any, ''),
  audiences: jsonField(list(string, 'atomic'), '', 'always'),
});
const reviewSchema = object({
  apiVersion: jsonField(string, ''),
  kind: jsonField(string, ''),
  status: jsonField(statusSchema, '', 'required'),
});

function parseReview(
  answer: JsonObject,
  version: WebhookTokensOptions['version'],
  wanted: readonly string[],
  apiAudiences: readonly string[],
): TokenAnswer | undefined {
  const { apiVersion, kind, status } = decodeAnswer(reviewSchema, answer);
  if (kind !== 'TokenReview' || apiVersion !== apiVersionOf(version))
    throw new WebhookError(`its answer is no TokenReview of ${version}`);
  if (!status.authenticated) return undefined;
  const { username: name, ...others } = decodeAnswer(userSchema, status.user);
  const user = addAuthenticatedGroup({ name, ...others });
  if (wanted.length === 0) return { user };
  // A webhook that returns no audiences vouches for the audiences of this API only.
  const named = status.audiences.length > 0 ? status.audiences : apiAudiences;
  const audiences = wanted.filter((one) => named.includes(one));
  return audiences.length > 0 ? { user, audiences } : undefined;
}
