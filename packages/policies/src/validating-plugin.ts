import { type Clock, perform } from '@cluster-apiserver/base';
import type { AdmissionPlugin } from '@cluster-apiserver/gates';
import type { ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model';
import type { Resource } from '@cluster-apiserver/registry';
import type { FindParams } from './params.ts';
import { activePolicies } from './active-policies.ts';
import { policiesInForce } from './policies-in-force.ts';
import { CompiledObjects } from './policy-set.ts';
import { PolicyRequest, type Surroundings } from './request.ts';
import { type StaticObjects, staticPolicies } from './static-policies.ts';
import { compileValidatingBinding, compileValidatingPolicy, validateByPolicies } from './validating.ts';

export interface PolicyPluginOptions {
  readonly policies: Resource;
  readonly bindings: Resource;
  /** Those that come from files; undefined if none do. */
  readonly staticObjects: (() => StaticObjects) | undefined;
  readonly surroundings: Surroundings;
  readonly findParams: FindParams;
  readonly clock: Clock;
}

/** Refuses what the ValidatingAdmissionPolicies in force deny. */
export function validatingAdmissionPolicy(options: PolicyPluginOptions): AdmissionPlugin {
  // Decoded by the schemas of their kinds.
  const compilePolicy = (object: KubeObject) => compileValidatingPolicy(object as ValidatingAdmissionPolicy);
  const compileBinding = (object: KubeObject) => compileValidatingBinding(object as ValidatingAdmissionPolicyBinding);
  const inForce = policiesInForce(
    options.staticObjects ? staticPolicies(options.staticObjects, compilePolicy, compileBinding) : () => [],
    activePolicies(
      new CompiledObjects(options.policies, compilePolicy),
      new CompiledObjects(options.bindings, compileBinding),
    ),
  );
  return {
    name: 'ValidatingAdmissionPolicy',
    validate: (context) => {
      const active = inForce(context.resource);
      if (active.length === 0) return undefined;
      const request = new PolicyRequest(context, options.surroundings);
      const done = perform(options.clock, context.call, validateByPolicies(active, request, options.findParams));
      return done instanceof Promise ? done.then(() => undefined) : undefined;
    },
  };
}
