import { perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model';
import { compileBinding, compilePolicy } from './compiled.ts';
import { obeysApiPolicies } from './exempt.ts';
import { followPolicies } from './followed-policies.ts';
import { compileMutations, mutateByPolicies } from './mutating.ts';
import { policiesInForce } from './policies-in-force.ts';
import { PolicyRequest } from './request.ts';
import { staticPolicies } from './static-policies.ts';
import type { PolicyPlugin, PolicyPluginOptions } from './validating-plugin.ts';

/** Changes objects as the MutatingAdmissionPolicies in force want them. */
export function mutatingAdmissionPolicy(options: PolicyPluginOptions): PolicyPlugin {
  const { staticObjects, environment, clock } = options;
  const compiling = {
    // Decoded by the schemas of their kinds.
    compilePolicy: (object: KubeObject) => compilePolicy(object as MutatingAdmissionPolicy, compileMutations),
    compileBinding: (object: KubeObject) => compileBinding(object as MutatingAdmissionPolicyBinding),
  };
  const followed = followPolicies({ ...options, ...compiling });
  const inForce = policiesInForce(staticPolicies(staticObjects, compiling), () => followed.current);
  const mutate: NonNullable<AdmissionPlugin['mutate']> = (context) => {
    const active = inForce(context.resource);
    if (active.length === 0 || !context.object) return context.object;
    return perform(clock, context.call, mutateByPolicies(active, new PolicyRequest(context, environment), environment));
  };
  return {
    name: 'MutatingAdmissionPolicy',
    reinvocable: true,
    mutate: (context) => {
      const settled = obeysApiPolicies(context.resource) ? followed.settle(context.call) : undefined;
      return settled ? settled.then(() => mutate(context)) : mutate(context);
    },
    close: () => followed.close(),
  };
}
