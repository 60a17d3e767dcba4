import { runTask } from '@cluster-apiserver/base';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import { compileBinding, compilePolicy } from './compiled.ts';
import { withInForce } from './in-force.ts';
import { type FollowingPlugin, type PolicyPluginOptions, policySources } from './policy-plugin.ts';
import { PolicyRequest } from './request.ts';
import { compileValidations, validateByPolicies } from './validating.ts';

/** Refuses what the ValidatingAdmissionPolicies in force deny. */
export function validatingAdmissionPolicy(options: PolicyPluginOptions): FollowingPlugin {
  const { environment, clock } = options;
  const sources = policySources(options, {
    // Decoded by the schemas of their kinds.
    policy: (object) => compilePolicy(object as ValidatingAdmissionPolicy, compileValidations),
    binding: (object) => compileBinding(object as ValidatingAdmissionPolicyBinding),
  });
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: withInForce(sources, (context, active) => {
      if (active.length === 0) return undefined;
      const request = new PolicyRequest(context, environment);
      const done = runTask(clock, context.call, validateByPolicies(active, request, options));
      return done instanceof Promise ? done.then(() => undefined) : undefined;
    }),
    close: () => sources.fromApi.close(),
  };
}
