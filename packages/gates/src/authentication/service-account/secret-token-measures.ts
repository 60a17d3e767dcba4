import type { Metrics } from '@cluster-apiserver/telemetry';

export type SecretTokenMeasures = ReturnType<typeof createSecretTokenMeasures>;

/** Uses of tokens of secrets, under the names of kube-apiserver. */
export function createSecretTokenMeasures(metrics: Metrics) {
  const countUses = (name: string, what: string): (() => void) =>
    metrics.counter({ name: `serviceaccount_${name}`, help: `Cumulative ${what} used.` }).series({});
  return {
    all: countUses('legacy_tokens_total', 'legacy service account tokens'),
    listed: countUses('legacy_auto_token_uses_total', 'auto-generated legacy tokens'),
    manual: countUses('legacy_manual_token_uses_total', 'manually created legacy tokens'),
    invalid: countUses('invalid_legacy_auto_token_uses_total', 'invalid auto-generated legacy tokens'),
  };
}
