import type { SyncTask } from '@cluster-apiserver/base';
import {
  ageColumn,
  type Column,
  dnsWordLabel,
  duplicate,
  type FieldError,
  FieldErrors,
  field,
  int32,
  invalidValue,
  type KubeObject,
  list,
  nameColumn,
  notSupported,
  required,
  string,
  subdomainNames,
  withNumber,
  type FieldValues,
} from '@cluster-apiserver/model';
import { addClientConfigErrors, clientConfig, withServicePort } from './client-config.ts';
import { type ExpressionChecker, expressionChecker, noNames } from './expressions.ts';
import { failurePolicy, failurePolicyErrors } from './failure-policy.ts';
import { addMatchConditionErrors, type MatchCondition, matchConditionsField } from './match-conditions.ts';
import { selectorErrors, selectorFields, withSelectors } from './match-resources.ts';
import { addRuleErrors, ruleWithOperations, withScopes } from './rules.ts';

export interface WebhookConfiguration<T extends Webhook> extends KubeObject {
  webhooks?: T[];
}

/** In the order of upstream's responses. objectSelector has a different protobuf number in each kind. */
export const webhookFields = {
  name: field(1, string, 'Name of the webhook, fully qualified, such as imagepolicy.example.com.', 'always'),
  clientConfig: field(2, clientConfig, 'How to call the webhook.', 'always'),
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

/** What is wrong with the webhooks of a configuration. `more` finds what is wrong with one of this kind alone. */
export function* webhooksErrors<T extends Webhook>(
  webhooks: readonly T[],
  more: (at: string, webhook: T) => readonly FieldError[] = () => [],
): SyncTask<FieldError[]> {
  const errors = new FieldErrors();
  const check = yield* expressionChecker(noNames);
  const seen = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const at = `webhooks[${index}]`;
    yield* addWebhookErrors(errors, at, webhook, check);
    for (const error of more(at, webhook)) errors.add(() => error);
    addVersionErrors(errors, `${at}.admissionReviewVersions`, webhook.admissionReviewVersions ?? []);
    if (webhook.name !== '' && seen.has(webhook.name)) errors.add(() => duplicate(`${at}.name`, webhook.name));
    seen.add(webhook.name);
    yield;
  }
  return errors.all;
}

const sideEffectClasses = ['None', 'NoneOnDryRun'];
const timeoutSecondsMax = 30;

function* addWebhookErrors(
  errors: FieldErrors,
  at: string,
  webhook: Webhook,
  check: ExpressionChecker,
): SyncTask<void> {
  const { name, rules = [], sideEffects, timeoutSeconds, matchConditions = [] } = webhook;
  addNameErrors(errors, `${at}.name`, name);
  for (const [index, rule] of rules.entries()) {
    addRuleErrors(errors, `${at}.rules[${index}]`, rule);
    yield;
  }
  for (const error of failurePolicyErrors(`${at}.failurePolicy`, webhook.failurePolicy)) errors.add(() => error);
  if (sideEffects === undefined)
    errors.add(() => required(`${at}.sideEffects`, `must specify one of ${sideEffectClasses.join(', ')}`));
  else if (!sideEffectClasses.includes(sideEffects))
    errors.add(() => notSupported(`${at}.sideEffects`, sideEffects, sideEffectClasses));
  if (timeoutSeconds !== undefined && (timeoutSeconds < 1 || timeoutSeconds > timeoutSecondsMax))
    errors.add(() =>
      invalidValue(
        `${at}.timeoutSeconds`,
        timeoutSeconds,
        `the timeout value must be between 1 and ${timeoutSecondsMax} seconds`,
      ),
    );
  for (const error of selectorErrors(at, webhook)) errors.add(() => error);
  yield* addClientConfigErrors(errors, `${at}.clientConfig`, webhook.clientConfig);
  yield* addMatchConditionErrors(errors, `${at}.matchConditions`, matchConditions, check);
}

const nameSegmentsMin = 3;

function addNameErrors(errors: FieldErrors, at: string, name: string): void {
  if (name === '') return errors.add(() => required(at));
  const problems = subdomainNames.whole(name);
  if (problems.length > 0) errors.add(() => invalidValue(at, name, problems.join(',')));
  else if (name.split('.').length < nameSegmentsMin)
    errors.add(() => invalidValue(at, name, 'should be a domain with at least three segments separated by dots'));
}

/** Versions of AdmissionReview that this server can send. */
const knownVersions = ['v1', 'v1beta1'];

function addVersionErrors(errors: FieldErrors, at: string, versions: readonly string[]): void {
  if (versions.length === 0) return errors.add(() => required(at, `must specify one of ${knownVersions.join(', ')}`));
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    const where = `${at}[${index}]`;
    if (seen.has(version)) errors.add(() => invalidValue(where, version, 'duplicate version'));
    else errors.addAll(dnsWordLabel(version), (problem) => invalidValue(where, version, problem));
    seen.add(version);
  }
  if (!versions.some((version) => knownVersions.includes(version)))
    errors.add(() => invalidValue(at, versions, `must include at least one of ${knownVersions.join(', ')}`));
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
