import type { SyncTask } from '@cluster-apiserver/base';
import type { MutatingWebhook, ValidatingWebhook, WebhookConfiguration } from '@cluster-apiserver/kinds';
import { createAdmissionEnvironment, type Expression } from '@cluster-apiserver/expressions';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { compileConditions, PolicyCompileError } from '../compiled.ts';
import { type Matcher, createMatcher, noMatcher } from '../matching.ts';
import { type ReviewVersion, chooseReviewVersion } from './admission-review.ts';
import { WebhookCallError } from './errors.ts';
import type { Endpoint, WebhookClients } from './webhook-clients.ts';

/** A webhook, ready to be called. */
export interface CompiledWebhook extends Matcher {
  /** Unique among all webhooks of its kind. */
  readonly key: string;
  readonly name: string;
  readonly configuration: string;
  readonly conditions: readonly Expression[];
  /** Set when its match conditions cannot be used. */
  readonly fault?: string;
  readonly isIgnoredOnFailure: boolean;
  readonly hasSideEffects: boolean;
  readonly isReinvocable: boolean;
  readonly timeoutMs: number;
  readonly version: ReviewVersion | undefined;
  /** Its address, or the error if it cannot be called. */
  readonly endpoint: Endpoint | WebhookCallError;
}

type AnyWebhook = ValidatingWebhook & Pick<MutatingWebhook, 'reinvocationPolicy'>;

const defaultTimeoutSeconds = 10;
/** Webhooks have neither parameters nor variables. */
const environment = createAdmissionEnvironment({ hasAuthorizer: true, hasParams: false });
/** Side effects with which a webhook may be called in a dry run. */
const withoutSideEffects = ['None', 'NoneOnDryRun'];

/** The webhooks of a configuration, decoded by the schema of its kind. */
export function* compileWebhooks(object: KubeObject, clients: WebhookClients): SyncTask<readonly CompiledWebhook[]> {
  const { metadata, webhooks = [] } = object as WebhookConfiguration<AnyWebhook>;
  const compiled: CompiledWebhook[] = [];
  for (const webhook of webhooks) compiled.push(yield* compileWebhook(metadata.name ?? '', webhook, clients));
  return compiled;
}

function* compileWebhook(
  configuration: string,
  webhook: AnyWebhook,
  clients: WebhookClients,
): SyncTask<CompiledWebhook> {
  const { name, rules = [], matchConditions = [], timeoutSeconds = defaultTimeoutSeconds, sideEffects = '' } = webhook;
  return {
    key: `${configuration}/${name}`,
    name,
    configuration,
    // A webhook without rules receives nothing, whereas policies without rules apply to everything.
    ...(rules.length === 0 ? noMatcher : createMatcher({ ...webhook, resourceRules: rules })),
    ...(yield* compileMatchConditions(matchConditions)),
    isIgnoredOnFailure: webhook.failurePolicy === 'Ignore',
    hasSideEffects: !withoutSideEffects.includes(sideEffects),
    isReinvocable: webhook.reinvocationPolicy === 'IfNeeded',
    timeoutMs: timeoutSeconds * 1000,
    version: chooseReviewVersion(webhook.admissionReviewVersions ?? []),
    endpoint: resolveEndpoint(webhook, clients),
  };
}

function* compileMatchConditions(
  conditions: NonNullable<AnyWebhook['matchConditions']>,
): SyncTask<Pick<CompiledWebhook, 'conditions' | 'fault'>> {
  try {
    return { conditions: yield* compileConditions(environment, conditions) };
  } catch (error) {
    if (!(error instanceof PolicyCompileError)) throw error;
    return { conditions: [], fault: error.message };
  }
}

function resolveEndpoint({ clientConfig }: AnyWebhook, clients: WebhookClients): Endpoint | WebhookCallError {
  try {
    return clients.resolveEndpoint(clientConfig);
  } catch (error) {
    if (error instanceof WebhookCallError) return error;
    throw error;
  }
}
