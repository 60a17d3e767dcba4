import { bindPolicies } from './bind-policies.ts';
import type { CompiledObjects } from './policy-set.ts';

/** A policy with its bindings. */
export interface ActivePolicy<Policy, Binding> {
  readonly policy: Policy;
  readonly bindings: readonly Binding[];
}

/** The policies that have bindings, made anew when one of either kind changes. */
export function activePolicies<
  Policy extends { readonly name: string },
  Binding extends { readonly policyName: string },
>(
  policies: CompiledObjects<Policy>,
  bindings: CompiledObjects<Binding>,
): () => readonly ActivePolicy<Policy, Binding>[] {
  let made: { readonly policies: object; readonly bindings: object } | undefined;
  let active: readonly ActivePolicy<Policy, Binding>[] = [];
  return () => {
    const [ofNow, bound] = [policies.all, bindings.all];
    if (made?.policies === ofNow && made.bindings === bound) return active;
    made = { policies: ofNow, bindings: bound };
    active = bindPolicies(ofNow, bound);
    return active;
  };
}
