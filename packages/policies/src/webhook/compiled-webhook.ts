import type { MutatingWebhook, ValidatingWebhook, WebhookConfiguration } from '@cluster-apiserver/kinds';
import type { Expression } from '@cluster-apiserver/expressions';
import { PolicyCompileError, PolicyCompiler } from '../compiled.ts';
import { type Matches, matcherOf } from '../matching.ts';
import { type ReviewVersion, reviewVersionOf } from './admission-review.ts';
import { WebhookCallError } from './errors.ts';
import type { Endpoint, WebhookClients } from './webhook-clients.ts';

/** A webhook, ready to be called. */
export interface CompiledWebhook {
  /** Of the webhook among all of its kind. */
  readonly key: string;
  readonly name: string;
  readonly configuration: string;
  readonly matches: Matches;
  readonly compiler: PolicyCompiler;
  readonly conditions: readonly Expression[];
  /** Set when its match conditions cannot be used. */
  readonly fault?: string;
  readonly isIgnoredOnFailure: boolean;
  readonly hasSideEffects: boolean;
  readonly isReinvocable: boolean;
  readonly timeoutMs: number;
  readonly version: ReviewVersion | undefined;
  /** Where it is, or why it cannot be called. */
  readonly endpoint: Endpoint | WebhookCallError;
}

type AnyWebhook = ValidatingWebhook & Pick<MutatingWebhook, 'reinvocationPolicy'>;

const defaultTimeoutSeconds = 10;
/** Those that change nothing for a dry run. */
const withoutSideEffects = ['None', 'NoneOnDryRun'];

export const compileWebhooks = (
  { metadata, webhooks = [] }: WebhookConfiguration<AnyWebhook>,
  clients: WebhookClients,
): readonly CompiledWebhook[] => webhooks.map((webhook) => compileWebhook(metadata.name ?? '', webhook, clients));

function compileWebhook(configuration: string, webhook: AnyWebhook, clients: WebhookClients): CompiledWebhook {
  const { name, rules = [], matchConditions = [], timeoutSeconds = defaultTimeoutSeconds, sideEffects = '' } = webhook;
  return {
    key: `${configuration}/${name}`,
    name,
    configuration,
    // A webhook without rules receives nothing, whereas policies without rules apply to everything.
    matches: rules.length === 0 ? () => undefined : matcherOf({ ...webhook, resourceRules: rules }),
    ...compileConditions(matchConditions),
    isIgnoredOnFailure: webhook.failurePolicy === 'Ignore',
    hasSideEffects: !withoutSideEffects.includes(sideEffects),
    isReinvocable: webhook.reinvocationPolicy === 'IfNeeded',
    timeoutMs: timeoutSeconds * 1000,
    version: reviewVersionOf(webhook.admissionReviewVersions ?? []),
    endpoint: endpointOf(webhook, clients),
  };
}

function compileConditions(
  conditions: NonNullable<AnyWebhook['matchConditions']>,
): Pick<CompiledWebhook, 'compiler' | 'conditions' | 'fault'> {
  const compiler = new PolicyCompiler({});
  try {
    return { compiler, conditions: compiler.conditions(conditions) };
  } catch (error) {
    if (!(error instanceof PolicyCompileError)) throw error;
    return { compiler, conditions: [], fault: error.message };
  }
}

function endpointOf({ clientConfig }: AnyWebhook, clients: WebhookClients): Endpoint | WebhookCallError {
  try {
    return clients.endpointOf(clientConfig);
  } catch (error) {
    if (error instanceof WebhookCallError) return error;
    throw error;
  }
}
