import path from 'node:path';
import type { Expression } from '@cluster-apiserver/expressions';
import type { Problems } from '@cluster-apiserver/model';
import { boolean, object, string, type ValueOf } from '@cluster-apiserver/model/schema';
import { checked, duration, durationMs, oneOf, optional, required, withDefault } from '../schema.ts';
import { matchConditionsSchema, readMatchConditions } from './match-conditions.ts';

export interface WebhookSettings {
  /** Time to cache responses; 0 disables the cache for them. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly timeoutMs: number;
  readonly subjectAccessReviewVersion: 'v1' | 'v1beta1';
  /** The decision if the webhook returns no usable response. */
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** Absolute. */
  readonly connectionFile: string;
  readonly matchConditions: readonly Expression[];
}

const authorizedTtlMs = 5 * 60_000;
const unauthorizedTtlMs = 30_000;
const timeoutMsMax = 30_000;

/** The field that names the file, by type: the name in the documentation of this server, and that of kube-apiserver. */
export const fileFields = { PlatformConfigFile: 'platformConfigFile', KubeConfigFile: 'kubeConfigFile' } as const;

const connectionInfoSchema = checked(
  object({
    type: required(
      oneOf(['PlatformConfigFile', 'KubeConfigFile'], { InClusterConfig: 'the API server cannot call itself' }),
      'Kind of the file.',
    ),
    platformConfigFile: optional(string, 'Absolute path of a kubeconfig; required with `type: PlatformConfigFile`.'),
    kubeConfigFile: optional(string, 'Absolute path of a kubeconfig; required with `type: KubeConfigFile`.'),
  }),
  (info, at) => {
    const { type } = info;
    const field = fileFields[type];
    for (const other of Object.values(fileFields))
      if (other !== field && info[other] !== undefined)
        at.at(other).forbidden(`may not be specified when type=${type}`);
    const file = info[field] ?? '';
    if (file === '') at.at(field).required(`required when type=${type}`);
    else if (!path.isAbsolute(file)) at.at(field).invalid(file, 'must be an absolute path');
  },
);

export const webhookSchema = object({
  authorizedTTL: optional(duration, 'Time to cache authorized responses.', '5m0s'),
  cacheAuthorizedRequests: withDefault(boolean, 'Whether authorized responses are cached.', true),
  unauthorizedTTL: optional(duration, 'Time to cache unauthorized responses.', '30s'),
  cacheUnauthorizedRequests: withDefault(boolean, 'Whether unauthorized responses are cached.', true),
  timeout: required(duration, 'Maximum duration of a request to the webhook, at most 30s.'),
  subjectAccessReviewVersion: required(
    oneOf(['v1', 'v1beta1']),
    'Version of the SubjectAccessReview that is sent and expected.',
  ),
  matchConditionSubjectAccessReviewVersion: optional(
    oneOf(['v1']),
    'Version of the SubjectAccessReview that match conditions see; required with `matchConditions`.',
  ),
  failurePolicy: required(oneOf(['NoOpinion', 'Deny']), 'Decision if the webhook gives no usable response.'),
  connectionInfo: required(connectionInfoSchema, 'Address of the webhook.'),
  matchConditions: optional(matchConditionsSchema, 'The webhook is called only if all of them are true.'),
});

/** The file is empty if there is a problem with its name. */
export function readWebhook(webhook: ValueOf<typeof webhookSchema>, at: Problems): WebhookSettings {
  const { matchConditions = [], timeout } = webhook;
  const timeoutMs = durationMs(timeout);
  if (timeoutMs <= 0 || timeoutMs > timeoutMsMax)
    at.at('timeout').invalid(timeout, `must be > 0s and <= ${timeoutMsMax / 1000}s`);
  if (matchConditions.length > 0 && webhook.matchConditionSubjectAccessReviewVersion === undefined)
    at.at('matchConditionSubjectAccessReviewVersion').required('required if match conditions are specified');
  const ttlOf = (field: 'authorizedTTL' | 'unauthorizedTTL', fallbackMs: number): number => {
    // As in kube-apiserver, 0 means the default; `cacheAuthorizedRequests` and its sibling disable the cache.
    const ttlMs = durationMs(webhook[field]) || fallbackMs;
    if (ttlMs < 0) at.at(field).invalid(webhook[field], 'must be > 0s');
    return ttlMs;
  };
  const [authorized, unauthorized] = [
    ttlOf('authorizedTTL', authorizedTtlMs),
    ttlOf('unauthorizedTTL', unauthorizedTtlMs),
  ];
  return {
    authorizedTtlMs: webhook.cacheAuthorizedRequests ? authorized : 0,
    unauthorizedTtlMs: webhook.cacheUnauthorizedRequests ? unauthorized : 0,
    timeoutMs,
    subjectAccessReviewVersion: webhook.subjectAccessReviewVersion,
    failurePolicy: webhook.failurePolicy,
    connectionFile: webhook.connectionInfo[fileFields[webhook.connectionInfo.type]] ?? '',
    matchConditions: readMatchConditions(matchConditions, at.at('matchConditions')),
  };
}
