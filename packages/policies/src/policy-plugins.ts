import { chain, runTask } from '@cluster-apiserver/base';
import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '@cluster-apiserver/kinds';
import { withActive } from './active.ts';
import { compileBinding, compilePolicy } from './compiled.ts';
import { compileMutations, mutateByPolicies } from './mutating.ts';
import { type FollowingPlugin, type PolicyPluginOptions, openPolicySources } from './policy-sources.ts';
import { PolicyRequest } from './request.ts';
import { compileValidations, validateByPolicies } from './validating.ts';

/** Applies the active MutatingAdmissionPolicies. */
export function createMutatingAdmissionPolicy(options: PolicyPluginOptions): FollowingPlugin {
  const { cluster, clock } = options;
  const sources = openPolicySources(options, {
    policy: (object: MutatingAdmissionPolicy) => compilePolicy(object, compileMutations),
    binding: (object: MutatingAdmissionPolicyBinding) => compileBinding(object),
  });
  return {
    name: 'MutatingAdmissionPolicy',
    reinvocable: true,
    mutate: withActive(sources, (context, active) => {
      if (active.length === 0 || !context.object) return context.object;
      const request = new PolicyRequest(context, cluster);
      return runTask(clock, context.call, mutateByPolicies(active, request, options));
    }),
    close: () => sources.fromApi.close(),
  };
}

/** Evaluates the active ValidatingAdmissionPolicies. */
export function createValidatingAdmissionPolicy(options: PolicyPluginOptions): FollowingPlugin {
  const { cluster, clock } = options;
  const sources = openPolicySources(options, {
    policy: (object: ValidatingAdmissionPolicy) => compilePolicy(object, compileValidations),
    binding: (object: ValidatingAdmissionPolicyBinding) => compileBinding(object),
  });
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: withActive(sources, (context, active) => {
      if (active.length === 0) return undefined;
      const request = new PolicyRequest(context, cluster);
      return chain(runTask(clock, context.call, validateByPolicies(active, request, options)), () => undefined);
    }),
    close: () => sources.fromApi.close(),
  };
}
