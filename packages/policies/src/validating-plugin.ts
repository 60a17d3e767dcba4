import { type Clock, perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model';
import type { Resource } from '@cluster-apiserver/registry';
import { compileBinding, compilePolicy } from './compiled.ts';
import type { PolicyEnvironment } from './environment.ts';
import { obeysApiPolicies } from './exempt.ts';
import { followPolicies } from './followed-policies.ts';
import { policiesInForce } from './policies-in-force.ts';
import { PolicyRequest } from './request.ts';
import { type StaticObjects, staticPolicies } from './static-policies.ts';
import { compileValidations, validateByPolicies } from './validating.ts';

export interface PolicyPluginOptions {
  readonly policies: Resource;
  readonly bindings: Resource;
  /** Those that come from files; undefined if none do. */
  readonly staticObjects: (() => StaticObjects) | undefined;
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
  const { staticObjects, environment, clock } = options;
  const compiling = {
    // Decoded by the schemas of their kinds.
    compilePolicy: (object: KubeObject) => compilePolicy(object as ValidatingAdmissionPolicy, compileValidations),
    compileBinding: (object: KubeObject) => compileBinding(object as ValidatingAdmissionPolicyBinding),
  };
  const followed = followPolicies({ ...options, ...compiling });
  const inForce = policiesInForce(staticPolicies(staticObjects, compiling), () => followed.current);
  const validate: NonNullable<AdmissionPlugin['validate']> = (context) => {
    const active = inForce(context.resource);
    if (active.length === 0) return undefined;
    const request = new PolicyRequest(context, environment);
    const done = perform(clock, context.call, validateByPolicies(active, request, environment));
    return done instanceof Promise ? done.then(() => undefined) : undefined;
  };
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: (context) => {
      const settled = obeysApiPolicies(context.resource) ? followed.settle(context.call) : undefined;
      return settled ? settled.then(() => validate(context)) : validate(context);
    },
    close: () => followed.close(),
  };
}
