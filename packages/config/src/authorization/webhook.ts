import path from 'node:path';
import type { Expression } from '@cluster-apiserver/expressions';
import { boolean, duration, object, string } from '../schema.ts';
import type { Written } from '../written.ts';
import { matchConditionsSchema, readMatchConditions } from './match-conditions.ts';

export interface WebhookSettings {
  /** How long answers are cached; 0 for not at all. */
  readonly authorizedTtlMs: number;
  readonly unauthorizedTtlMs: number;
  readonly timeoutMs: number;
  readonly subjectAccessReviewVersion: 'v1' | 'v1beta1';
  /** The decision when there is no answer that can be used. */
  readonly failurePolicy: 'NoOpinion' | 'Deny';
  /** Absolute. */
  readonly connectionFile: string;
  readonly matchConditions: readonly Expression[];
}

const authorizedTtlMs = 5 * 60_000;
const unauthorizedTtlMs = 30_000;
const timeoutMsMax = 30_000;

/** A file, and the place that names it, for faults in that file. */
export interface NamedFile {
  readonly place: Written;
  readonly file: string;
}

const connectionInfoSchema = object(
  'Where the webhook is.',
  {
    type: string('Kind of the file.', { enum: ['PlatformConfigFile', 'KubeConfigFile'] }),
    platformConfigFile: string('Absolute path of a kubeconfig; required with `type: PlatformConfigFile`.'),
    kubeConfigFile: string('Absolute path of a kubeconfig; required with `type: KubeConfigFile`.'),
  },
  { required: ['type'] },
);

export const webhookSchema = object(
  'Settings of an authorizer of type `Webhook`.',
  {
    authorizedTTL: duration('Time to cache authorized responses.', { default: '5m0s' }),
    cacheAuthorizedRequests: boolean('Whether authorized responses are cached.', { default: true }),
    unauthorizedTTL: duration('Time to cache unauthorized responses.', { default: '30s' }),
    cacheUnauthorizedRequests: boolean('Whether unauthorized responses are cached.', { default: true }),
    timeout: duration('Maximum duration of a request to the webhook, at most 30s.'),
    subjectAccessReviewVersion: string('Version of the SubjectAccessReview that is sent and expected.', {
      enum: ['v1', 'v1beta1'],
    }),
    matchConditionSubjectAccessReviewVersion: string(
      'Version of the SubjectAccessReview that match conditions see; required with `matchConditions`.',
      { enum: ['v1'] },
    ),
    failurePolicy: string('Decision if the webhook gives no usable response.', { enum: ['NoOpinion', 'Deny'] }),
    connectionInfo: connectionInfoSchema,
    matchConditions: matchConditionsSchema,
  },
  { required: ['timeout', 'subjectAccessReviewVersion', 'failurePolicy', 'connectionInfo'] },
);

/** Each of them is undefined if it has faults. */
export function readWebhook(written: Written<typeof webhookSchema>): {
  readonly settings: WebhookSettings | undefined;
  readonly connectionFile: NamedFile | undefined;
} {
  const fields = written.fields();
  const ofAuthorized = readTtl(fields.authorizedTTL, fields.cacheAuthorizedRequests, authorizedTtlMs);
  const ofUnauthorized = readTtl(fields.unauthorizedTTL, fields.cacheUnauthorizedRequests, unauthorizedTtlMs);
  const timeoutMs = readTimeout(fields.timeout);
  const version = readOneOf(fields.subjectAccessReviewVersion, ['v1', 'v1beta1']);
  const failurePolicy = readOneOf(fields.failurePolicy, ['NoOpinion', 'Deny']);
  const matchConditions = readMatchConditions(fields.matchConditions);
  if (!fields.matchConditionSubjectAccessReviewVersion.absent)
    readOneOf(fields.matchConditionSubjectAccessReviewVersion, ['v1']);
  else if (fields.matchConditions.items().length > 0)
    fields.matchConditionSubjectAccessReviewVersion.required('required if match conditions are specified');
  const connectionFile = readConnectionInfo(fields.connectionInfo);
  const settings = version &&
    failurePolicy &&
    connectionFile && {
      authorizedTtlMs: ofAuthorized,
      unauthorizedTtlMs: ofUnauthorized,
      timeoutMs,
      subjectAccessReviewVersion: version,
      failurePolicy,
      connectionFile: connectionFile.file,
      matchConditions,
    };
  return { settings, connectionFile };
}

/** None, as kube-apiserver has it, means the default: what is not to be cached is switched off by the field for that. */
function readTtl(written: Written, cached: Written, fallbackMs: number): number {
  const ttlMs = written.durationMs() || fallbackMs;
  if (ttlMs < 0) written.invalid(written.text(), 'must be > 0s');
  return (cached.fact() ?? true) ? ttlMs : 0;
}

function readTimeout(written: Written): number {
  const timeoutMs = written.durationMs();
  if (written.absent) written.required();
  else if (timeoutMs !== undefined && (timeoutMs <= 0 || timeoutMs > timeoutMsMax))
    written.invalid(written.text(), `must be > 0s and <= ${timeoutMsMax / 1000}s`);
  return timeoutMs ?? timeoutMsMax;
}

function readOneOf<T extends string>(written: Written, values: readonly T[]): T | undefined {
  const text = written.text() ?? '';
  const value = values.find((one) => one === text);
  if (text === '') written.required();
  else if (value === undefined) written.wrong(unsupported(text, values));
  return value;
}

const unsupported = (text: string, values: readonly string[]): string =>
  `Unsupported value: ${JSON.stringify(text)}: supported values: ${values.map((one) => JSON.stringify(one)).join(', ')}`;

/** By type, the field that names the file: the names of our documentation, and those that kube-apiserver has. */
const fileFields = { PlatformConfigFile: 'platformConfigFile', KubeConfigFile: 'kubeConfigFile' } as const;

function readConnectionInfo(written: Written<typeof connectionInfoSchema>): NamedFile | undefined {
  const fields = written.fields();
  const type = fields.type.text() ?? '';
  const known = (Object.keys(fileFields) as (keyof typeof fileFields)[]).find((one) => one === type);
  if (known === undefined) {
    if (written.absent || type === '') fields.type.required();
    else if (type === 'InClusterConfig')
      fields.type.invalid(type, 'the API server cannot ask itself; use PlatformConfigFile');
    else fields.type.wrong(unsupported(type, Object.keys(fileFields)));
    return undefined;
  }
  const place = fields[fileFields[known]];
  for (const other of Object.values(fileFields))
    if (other !== fileFields[known] && !fields[other].absent)
      fields[other].wrong(`Forbidden: may not be specified when type=${known}`);
  const file = place.text() ?? '';
  if (path.isAbsolute(file)) return { file, place };
  if (file === '') place.required(`required when type=${known}`);
  else place.invalid(file, 'must be an absolute path');
  return undefined;
}
