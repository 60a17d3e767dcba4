import { perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import { compileBinding, compilePolicy } from './compiled.ts';
import { isAboutPolicies } from './exempt.ts';
import { followPolicies } from './followed-policies.ts';
import { compileMutations, mutateByPolicies } from './mutating.ts';
import { PolicyRequest } from './request.ts';
import type { PolicyPlugin, PolicyPluginOptions } from './validating-plugin.ts';

/** Changes objects as the MutatingAdmissionPolicies in force want them. */
export function mutatingAdmissionPolicy(options: PolicyPluginOptions): PolicyPlugin {
  const { environment, clock } = options;
  const followed = followPolicies({
    ...options,
    // Decoded by the schemas of their kinds.
    compilePolicy: (object) => compilePolicy(object as MutatingAdmissionPolicy, compileMutations),
    compileBinding: (object) => compileBinding(object as MutatingAdmissionPolicyBinding),
  });
  const mutate: NonNullable<AdmissionPlugin['mutate']> = (context) => {
    const { current } = followed;
    if (current.length === 0 || !context.object) return context.object;
    return perform(
      clock,
      context.call,
      mutateByPolicies(current, new PolicyRequest(context, environment), environment),
    );
  };
  return {
    name: 'MutatingAdmissionPolicy',
    reinvocable: true,
    mutate: (context) => {
      if (isAboutPolicies(context.resource)) return context.object;
      const settled = followed.settle(context.call);
      return settled ? settled.then(() => mutate(context)) : mutate(context);
    },
    close: () => followed.close(),
  };
}
