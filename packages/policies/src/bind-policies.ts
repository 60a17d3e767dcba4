/** A policy with its bindings. */
export interface ActivePolicy<Policy, Binding> {
  readonly policy: Policy;
  readonly bindings: readonly Binding[];
}

/** Joins policies with their bindings; drops policies without any. */
export function bindPolicies<Policy extends { readonly name: string }, Binding extends { readonly policyName: string }>(
  policies: readonly Policy[],
  bindings: readonly Binding[],
): readonly ActivePolicy<Policy, Binding>[] {
  const byPolicy = Map.groupBy(bindings, ({ policyName }) => policyName);
  return policies.flatMap((policy) => {
    const own = byPolicy.get(policy.name);
    return own ? [{ policy, bindings: own }] : [];
  });
}
