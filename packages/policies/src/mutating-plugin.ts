import { perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import { activePolicies } from './active-policies.ts';
import { isAboutPolicies } from './exempt.ts';
import { compileMutatingBinding, compileMutatingPolicy, mutateByPolicies } from './mutating.ts';
import { CompiledObjects } from './policy-set.ts';
import { PolicyRequest } from './request.ts';
import type { PolicyPluginOptions } from './validating-plugin.ts';

/** Changes objects as the MutatingAdmissionPolicies in force want them. */
export function mutatingAdmissionPolicy(options: PolicyPluginOptions): AdmissionPlugin {
  const policies = new CompiledObjects(options.policies, (object) =>
    compileMutatingPolicy(object as MutatingAdmissionPolicy),
  );
  const bindings = new CompiledObjects(options.bindings, (object) =>
    compileMutatingBinding(object as MutatingAdmissionPolicyBinding),
  );
  const active = activePolicies(policies, bindings);
  return {
    name: 'MutatingAdmissionPolicy',
    reinvocable: true,
    mutate: (context) => {
      const inForce = active();
      if (inForce.length === 0 || !context.object || isAboutPolicies(context.resource)) return context.object;
      const request = new PolicyRequest(context, options.surroundings);
      return perform(options.clock, context.call, mutateByPolicies(inForce, request, options.findParams));
    },
  };
}
