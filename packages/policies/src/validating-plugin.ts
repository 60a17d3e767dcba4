import { type Clock, perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import type { Resource } from '@cluster-apiserver/registry';
import { compileBinding, compilePolicy } from './compiled.ts';
import type { PolicyEnvironment } from './environment.ts';
import { isAboutPolicies } from './exempt.ts';
import { followPolicies } from './followed-policies.ts';
import { PolicyRequest } from './request.ts';
import { compileValidations, validateByPolicies } from './validating.ts';

export interface PolicyPluginOptions {
  readonly policies: Resource;
  readonly bindings: Resource;
  readonly environment: PolicyEnvironment;
  readonly clock: Clock;
  /** Policies could not be compiled, by an internal error; they are compiled again. */
  readonly failed: (error: unknown) => void;
}

export interface PolicyPlugin extends AdmissionPlugin {
  close(): void;
}

/** Refuses what the ValidatingAdmissionPolicies in force deny. */
export function validatingAdmissionPolicy(options: PolicyPluginOptions): PolicyPlugin {
  const { environment, clock } = options;
  const followed = followPolicies({
    ...options,
    // Decoded by the schemas of their kinds.
    compilePolicy: (object) => compilePolicy(object as ValidatingAdmissionPolicy, compileValidations),
    compileBinding: (object) => compileBinding(object as ValidatingAdmissionPolicyBinding),
  });
  const validate: NonNullable<AdmissionPlugin['validate']> = (context) => {
    const { current } = followed;
    if (current.length === 0) return undefined;
    const request = new PolicyRequest(context, environment);
    const done = perform(clock, context.call, validateByPolicies(current, request, environment));
    return done instanceof Promise ? done.then(() => undefined) : undefined;
  };
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: (context) => {
      if (isAboutPolicies(context.resource)) return undefined;
      const settled = followed.settle(context.call);
      return settled ? settled.then(() => validate(context)) : validate(context);
    },
    close: () => followed.close(),
  };
}
