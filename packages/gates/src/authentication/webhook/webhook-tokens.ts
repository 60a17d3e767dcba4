import { type Call, getOwn } from '@cluster-apiserver/base';
import type { UserInfo } from '@cluster-apiserver/model';
import { isJsonObject, type JsonObject } from '@cluster-apiserver/model/json';
import { requestReview, type RetryPolicy, type WebhookOptions } from '../../webhook/send-to-webhook.ts';
import { WebhookError } from '../../webhook/webhook-error.ts';
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
}

/** Maximum number of reviews in flight: any client can send unknown tokens, and each causes a review. */
const inFlightMax = 1_000;

/**
 * Authenticates tokens by a TokenReview to a webhook. Fails closed: without a valid response the token is rejected.
 */
export function createTokenWebhook(options: WebhookTokensOptions): TokenAuthenticator {
  const { version, apiAudiences } = options;
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
        return await review(token, audiences, call);
      } catch (cause) {
        if (cause instanceof WebhookError) throw new TokenRejectedError('the token webhook is of no use', { cause });
        throw cause;
      } finally {
        inFlight--;
      }
    },
  };
}

const apiVersionOf = (version: WebhookTokensOptions['version']): string => `authentication.k8s.io/${version}`;

function parseReview(
  { apiVersion, kind, status: given }: JsonObject,
  version: WebhookTokensOptions['version'],
  wanted: readonly string[],
  apiAudiences: readonly string[],
): TokenAnswer | undefined {
  if (kind !== 'TokenReview' || apiVersion !== apiVersionOf(version))
    throw new WebhookError(`its answer is no TokenReview of ${version}`);
  const status = requireObject(given, 'status');
  if (status['authenticated'] !== true) return undefined;
  const user = parseUser(requireObject(status['user'], 'user'));
  if (wanted.length === 0) return { user };
  // A webhook that returns no audiences vouches for the audiences of this API only.
  const named = requireStrings(status['audiences'], 'audiences');
  const audiences = wanted.filter((one) => (named.length > 0 ? named : apiAudiences).includes(one));
  return audiences.length > 0 ? { user, audiences } : undefined;
}

function parseUser(user: JsonObject): UserInfo {
  const { username, uid, groups, extra } = user;
  if (typeof username !== 'string' || username === '') throw new WebhookError('its user has no name');
  if (uid !== undefined && typeof uid !== 'string') throw new WebhookError('its uid is no text');
  const extras = extra === undefined || extra === null ? {} : requireObject(extra, 'extra');
  const entries = Object.keys(extras).map((key) => [key, requireStrings(getOwn(extras, key), 'extra')] as const);
  return addAuthenticatedGroup({
    name: username,
    ...(uid && { uid }),
    groups: requireStrings(groups, 'groups'),
    ...(entries.length > 0 && { extra: Object.fromEntries(entries) }),
  });
}

function requireObject(value: unknown, what: string): JsonObject {
  if (!isJsonObject(value)) throw new WebhookError(`its ${what} is no object`);
  return value;
}

function requireStrings(value: unknown, what: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((one) => typeof one === 'string'))
    throw new WebhookError(`its ${what} are no list of texts`);
  return value;
}
