import { chain, runTask } from '@cluster-apiserver/base';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import { compileBinding, compilePolicy } from './compiled.ts';
import { withActive } from './active.ts';
import { type FollowingPlugin, type PolicyPluginOptions, openPolicySources } from './policy-plugin.ts';
import { PolicyRequest } from './request.ts';
import { compileValidations, validateByPolicies } from './validating.ts';

/** Evaluates the active ValidatingAdmissionPolicies. */
export function createValidatingAdmissionPolicy(options: PolicyPluginOptions): FollowingPlugin {
  const { environment, clock } = options;
  const sources = openPolicySources(options, {
    policy: (object: ValidatingAdmissionPolicy) => compilePolicy(object, compileValidations),
    binding: (object: ValidatingAdmissionPolicyBinding) => compileBinding(object),
  });
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: withActive(sources, (context, active) => {
      if (active.length === 0) return undefined;
      const request = new PolicyRequest(context, environment);
      return chain(runTask(clock, context.call, validateByPolicies(active, request, options)), () => undefined);
    }),
    close: () => sources.fromApi.close(),
  };
}
