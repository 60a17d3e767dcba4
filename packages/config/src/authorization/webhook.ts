import path from 'node:path';
import type { Expression } from '@cluster-apiserver/expressions';
import { boolean, duration, object, string } from '../schema.ts';
import type { ConfigNode } from '../config-node.ts';
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

/** A file, and the node that names it, to report the problems of the file. */
export interface NamedFile {
  readonly place: ConfigNode;
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

/** Each is undefined if it has problems. */
export function readWebhook(node: ConfigNode<typeof webhookSchema>): {
  readonly settings: WebhookSettings | undefined;
  readonly connectionFile: NamedFile | undefined;
} {
  const fields = node.fields();
  const ofAuthorized = readTtl(fields.authorizedTTL, fields.cacheAuthorizedRequests, authorizedTtlMs);
  const ofUnauthorized = readTtl(fields.unauthorizedTTL, fields.cacheUnauthorizedRequests, unauthorizedTtlMs);
  const timeoutMs = readTimeout(fields.timeout);
  const version = readOneOf(fields.subjectAccessReviewVersion, ['v1', 'v1beta1']);
  const failurePolicy = readOneOf(fields.failurePolicy, ['NoOpinion', 'Deny']);
  const matchConditions = readMatchConditions(fields.matchConditions);
  if (!fields.matchConditionSubjectAccessReviewVersion.isAbsent)
    readOneOf(fields.matchConditionSubjectAccessReviewVersion, ['v1']);
  else if (fields.matchConditions.items().length > 0)
    fields.matchConditionSubjectAccessReviewVersion.addRequired('required if match conditions are specified');
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

/** As in kube-apiserver, 0 means the default; `cacheAuthorizedRequests` and its sibling disable the cache. */
function readTtl(node: ConfigNode, cached: ConfigNode, fallbackMs: number): number {
  const ttlMs = node.durationMs() || fallbackMs;
  if (ttlMs < 0) node.addInvalid(node.string(), 'must be > 0s');
  return (cached.boolean() ?? true) ? ttlMs : 0;
}

function readTimeout(node: ConfigNode): number {
  const timeoutMs = node.durationMs();
  if (node.isAbsent) node.addRequired();
  else if (timeoutMs !== undefined && (timeoutMs <= 0 || timeoutMs > timeoutMsMax))
    node.addInvalid(node.string(), `must be > 0s and <= ${timeoutMsMax / 1000}s`);
  return timeoutMs ?? timeoutMsMax;
}

function readOneOf<T extends string>(node: ConfigNode, values: readonly T[]): T | undefined {
  const text = node.string() ?? '';
  const value = values.find((one) => one === text);
  if (text === '') node.addRequired();
  else if (value === undefined) node.addProblem(describeUnsupported(text, values));
  return value;
}

const describeUnsupported = (text: string, values: readonly string[]): string =>
  `Unsupported value: ${JSON.stringify(text)}: supported values: ${values.map((one) => JSON.stringify(one)).join(', ')}`;

/** The field that names the file, by type: the name in the documentation of this server, and that of kube-apiserver. */
const fileFields = { PlatformConfigFile: 'platformConfigFile', KubeConfigFile: 'kubeConfigFile' } as const;
const fileTypes = ['PlatformConfigFile', 'KubeConfigFile'] as const satisfies readonly (keyof typeof fileFields)[];

function readConnectionInfo(node: ConfigNode<typeof connectionInfoSchema>): NamedFile | undefined {
  const fields = node.fields();
  const type = fields.type.string() ?? '';
  const known = fileTypes.find((one) => one === type);
  if (known === undefined) {
    if (node.isAbsent || type === '') fields.type.addRequired();
    else if (type === 'InClusterConfig')
      fields.type.addInvalid(type, 'the API server cannot call itself; use PlatformConfigFile');
    else fields.type.addProblem(describeUnsupported(type, fileTypes));
    return undefined;
  }
  const place = fields[fileFields[known]];
  for (const other of Object.values(fileFields))
    if (other !== fileFields[known] && !fields[other].isAbsent)
      fields[other].addProblem(`Forbidden: may not be specified when type=${known}`);
  const file = place.string() ?? '';
  if (path.isAbsolute(file)) return { file, place };
  if (file === '') place.addRequired(`required when type=${known}`);
  else place.addInvalid(file, 'must be an absolute path');
  return undefined;
}
