import { type Clock, perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import type { Resource } from '@cluster-apiserver/registry';
import type { FindParams } from './params.ts';
import { isAboutPolicies } from './exempt.ts';
import { CompiledObjects } from './policy-set.ts';
import { PolicyRequest, type Surroundings } from './request.ts';
import {
  type ActiveValidatingPolicy,
  type CompiledValidatingBinding,
  type CompiledValidatingPolicy,
  compileValidatingBinding,
  compileValidatingPolicy,
  validateByPolicies,
} from './validating.ts';

export interface PolicyPluginOptions {
  readonly policies: Resource;
  readonly bindings: Resource;
  readonly surroundings: Surroundings;
  readonly findParams: FindParams;
  readonly clock: Clock;
}

/** Refuses what the ValidatingAdmissionPolicies in force deny. */
export function validatingAdmissionPolicy(options: PolicyPluginOptions): AdmissionPlugin {
  const policies = new CompiledObjects(options.policies, (object) =>
    compileValidatingPolicy(object as ValidatingAdmissionPolicy),
  );
  const bindings = new CompiledObjects(options.bindings, (object) =>
    compileValidatingBinding(object as ValidatingAdmissionPolicyBinding),
  );
  const active = activePolicies(policies, bindings);
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: (context) => {
      const inForce = active();
      if (inForce.length === 0 || isAboutPolicies(context.resource)) return undefined;
      const request = new PolicyRequest(context, options.surroundings);
      const done = perform(options.clock, context.call, validateByPolicies(inForce, request, options.findParams));
      return done instanceof Promise ? done.then(() => undefined) : undefined;
    },
  };
}

/** The policies that have bindings, made anew when one of either kind changes. */
function activePolicies(
  policies: CompiledObjects<CompiledValidatingPolicy>,
  bindings: CompiledObjects<CompiledValidatingBinding>,
): () => readonly ActiveValidatingPolicy[] {
  let made: { readonly policies: object; readonly bindings: object } | undefined;
  let active: readonly ActiveValidatingPolicy[] = [];
  return () => {
    const [ofNow, bound] = [policies.all, bindings.all];
    if (made?.policies === ofNow && made.bindings === bound) return active;
    made = { policies: ofNow, bindings: bound };
    const byPolicy = Map.groupBy(bound, ({ policyName }) => policyName);
    active = ofNow.flatMap((policy) => {
      const own = byPolicy.get(policy.name);
      return own ? [{ policy, bindings: own }] : [];
    });
    return active;
  };
}
