import { type Clock, perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import type { Resource } from '@cluster-apiserver/registry';
import type { FindParams } from './params.ts';
import { activePolicies } from './active-policies.ts';
import { isAboutPolicies } from './exempt.ts';
import { CompiledObjects } from './policy-set.ts';
import { PolicyRequest, type Surroundings } from './request.ts';
import { compileValidatingBinding, compileValidatingPolicy, validateByPolicies } from './validating.ts';

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
