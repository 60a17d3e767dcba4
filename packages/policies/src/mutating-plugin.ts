import { runTask } from '@cluster-apiserver/base';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import { compileBinding, compilePolicy } from './compiled.ts';
import { withActive } from './active.ts';
import { compileMutations, mutateByPolicies } from './mutating.ts';
import { type FollowingPlugin, type PolicyPluginOptions, openPolicySources } from './policy-plugin.ts';
import { PolicyRequest } from './request.ts';

/** Applies the active MutatingAdmissionPolicies. */
export function createMutatingAdmissionPolicy(options: PolicyPluginOptions): FollowingPlugin {
  const { environment, clock } = options;
  const sources = openPolicySources(options, {
    policy: (object: MutatingAdmissionPolicy) => compilePolicy(object, compileMutations),
    binding: (object: MutatingAdmissionPolicyBinding) => compileBinding(object),
  });
  return {
    name: 'MutatingAdmissionPolicy',
    reinvocable: true,
    mutate: withActive(sources, (context, active) => {
      if (active.length === 0 || !context.object) return context.object;
      const request = new PolicyRequest(context, environment);
      return runTask(clock, context.call, mutateByPolicies(active, request, options));
    }),
    close: () => sources.fromApi.close(),
  };
}
