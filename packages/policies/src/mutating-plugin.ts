import { perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model';
import { activePolicies } from './active-policies.ts';
import { compileMutatingBinding, compileMutatingPolicy, mutateByPolicies } from './mutating.ts';
import { policiesInForce } from './policies-in-force.ts';
import { CompiledObjects } from './policy-set.ts';
import { PolicyRequest } from './request.ts';
import { staticPolicies } from './static-policies.ts';
import type { PolicyPluginOptions } from './validating-plugin.ts';

/** Changes objects as the MutatingAdmissionPolicies in force want them. */
export function mutatingAdmissionPolicy(options: PolicyPluginOptions): AdmissionPlugin {
  // Decoded by the schemas of their kinds.
  const compilePolicy = (object: KubeObject) => compileMutatingPolicy(object as MutatingAdmissionPolicy);
  const compileBinding = (object: KubeObject) => compileMutatingBinding(object as MutatingAdmissionPolicyBinding);
  const inForce = policiesInForce(
    options.staticObjects ? staticPolicies(options.staticObjects, compilePolicy, compileBinding) : () => [],
    activePolicies(
      new CompiledObjects(options.policies, compilePolicy),
      new CompiledObjects(options.bindings, compileBinding),
    ),
  );
  return {
    name: 'MutatingAdmissionPolicy',
    reinvocable: true,
    mutate: (context) => {
      const active = inForce(context.resource);
      if (active.length === 0 || !context.object) return context.object;
      const request = new PolicyRequest(context, options.surroundings);
      return perform(options.clock, context.call, mutateByPolicies(active, request, options.findParams));
    },
  };
}
