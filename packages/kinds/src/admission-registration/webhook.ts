import type { SyncTask } from '@cluster-apiserver/base';
import type { Problems } from '@cluster-apiserver/model';
import { ageColumn, type Column, type KubeObject, nameColumn } from '@cluster-apiserver/model/kind';
import { field, int32, list, string, withNumber, type FieldValues } from '@cluster-apiserver/model/schema';
import { dnsWordLabel, subdomainNames } from '@cluster-apiserver/model/validation';
import { clientConfig, validateClientConfig, withServicePort } from './client-config.ts';
import { type ExpressionChecker, expressionChecker, noNames } from './expressions.ts';
import { failurePolicies, failurePolicy } from './choices.ts';
import { type MatchCondition, matchConditionsField, validateMatchConditions } from './match-conditions.ts';
import { selectorFields, validateSelectors, withSelectors } from './match-resources.ts';
import { ruleWithOperations, validateRule, withScopes } from './rules.ts';

export interface WebhookConfiguration<T extends Webhook> extends KubeObject {
  webhooks?: T[];
}

/** In the order of upstream's responses. objectSelector has a different protobuf number in each kind. */
export const webhookFields = {
  name: field(1, string, 'Name of the webhook, fully qualified, such as imagepolicy.example.com.', 'always'),
  clientConfig: field(2, clientConfig, 'Address of the webhook, and the certificates to trust.', 'always'),
  rules: field(
    3,
    list(ruleWithOperations, 'atomic'),
    'Operations on resources that the webhook is called for. At least one of the rules must match.',
  ),
  failurePolicy: withNumber(4, failurePolicy),
  matchPolicy: withNumber(9, selectorFields.matchPolicy),
  namespaceSelector: withNumber(5, selectorFields.namespaceSelector),
  objectSelector: selectorFields.objectSelector,
  sideEffects: field(
    6,
    string,
    'Side effects of the webhook: None, or NoneOnDryRun if it has none for dry runs.',
    'given',
  ),
  timeoutSeconds: field(7, int32, 'Timeout of a call in seconds, 1 to 30. Defaults to 10.', 'given'),
  admissionReviewVersions: field(
    8,
    list(string, 'atomic'),
    'Versions of AdmissionReview that the webhook accepts, in order of preference.',
    'nullIfEmpty',
  ),
};

/** The fields of validating and mutating webhooks. */
export type Webhook = FieldValues<typeof webhookFields> & { matchConditions?: MatchCondition[] };

export const webhookRequired = ['name', 'clientConfig', 'sideEffects', 'admissionReviewVersions'];

export { matchConditionsField };

const defaultTimeoutSeconds = 10;

/** Fills in defaults. */
export function withWebhookDefaults<T extends Webhook>(webhook: T): T {
  return {
    ...withSelectors(webhook),
    clientConfig: withServicePort(webhook.clientConfig),
    ...(webhook.rules && { rules: withScopes(webhook.rules) }),
    failurePolicy: webhook.failurePolicy ?? 'Fail',
    timeoutSeconds: webhook.timeoutSeconds ?? defaultTimeoutSeconds,
  };
}

/** Validates the webhooks of a configuration. `validateMore` validates what one of this kind has besides. */
export function* validateWebhooks<T extends Webhook>(
  webhooks: readonly T[],
  problems: Problems,
  validateMore: (webhook: T, problems: Problems) => void = () => {},
): SyncTask<void> {
  const check = yield* expressionChecker(noNames);
  const seen = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const at = problems.at(index);
    yield* validateWebhook(webhook, check, at);
    validateMore(webhook, at);
    validateReviewVersions(webhook.admissionReviewVersions ?? [], at.at('admissionReviewVersions'));
    if (webhook.name !== '' && seen.has(webhook.name)) at.at('name').duplicate(webhook.name);
    seen.add(webhook.name);
    yield;
  }
}

const sideEffectClasses = ['None', 'NoneOnDryRun'];
const timeoutSecondsMax = 30;

function* validateWebhook(webhook: Webhook, check: ExpressionChecker, problems: Problems): SyncTask<void> {
  const { name, rules = [], failurePolicy: policy, sideEffects, timeoutSeconds, matchConditions = [] } = webhook;
  validateName(name, problems.at('name'));
  for (const [index, rule] of rules.entries()) {
    validateRule(rule, problems.at('rules', index));
    yield;
  }
  problems.at('failurePolicy').oneOf(policy, failurePolicies);
  if (sideEffects === undefined)
    problems.at('sideEffects').required(`must specify one of ${sideEffectClasses.join(', ')}`);
  else problems.at('sideEffects').oneOf(sideEffects, sideEffectClasses);
  if (timeoutSeconds !== undefined && (timeoutSeconds < 1 || timeoutSeconds > timeoutSecondsMax))
    problems
      .at('timeoutSeconds')
      .invalid(timeoutSeconds, `the timeout value must be between 1 and ${timeoutSecondsMax} seconds`);
  validateSelectors(webhook, problems);
  yield* validateClientConfig(webhook.clientConfig, problems.at('clientConfig'));
  yield* validateMatchConditions(matchConditions, check, problems.at('matchConditions'));
}

const nameSegmentsMin = 3;

function validateName(name: string, problems: Problems): void {
  if (name === '') return void problems.required();
  const details = subdomainNames.whole(name);
  if (details.length > 0) problems.invalid(name, details.join(','));
  else if (name.split('.').length < nameSegmentsMin)
    problems.invalid(name, 'should be a domain with at least three segments separated by dots');
}

/** Versions of AdmissionReview that this server can send. */
const knownVersions = ['v1', 'v1beta1'];

function validateReviewVersions(versions: readonly string[], problems: Problems): void {
  if (versions.length === 0) return void problems.required(`must specify one of ${knownVersions.join(', ')}`);
  const seen = new Set<string>();
  problems.each(versions, (version, at) => {
    if (seen.has(version)) at.invalid(version, 'duplicate version');
    else at.check(dnsWordLabel, version);
    seen.add(version);
  });
  if (!versions.some((version) => knownVersions.includes(version)))
    problems.invalid(versions, `must include at least one of ${knownVersions.join(', ')}`);
}

export const webhookColumns: readonly Column<WebhookConfiguration<Webhook>>[] = [
  nameColumn,
  {
    name: 'Webhooks',
    description: 'Number of webhooks in the configuration.',
    type: 'integer',
    value: ({ webhooks = [] }) => webhooks.length,
  },
  ageColumn,
];
