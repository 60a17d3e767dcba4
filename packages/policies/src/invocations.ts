import type { SyncTask } from '@cluster-apiserver/base';
import type { ParamRef, PolicySpec } from '@cluster-apiserver/kinds';
import type { KubeObject, ServedKind } from '@cluster-apiserver/model/kind';
import type { CompiledBinding, CompiledPolicy } from './compiled.ts';
import type { ClusterState } from './cluster-state.ts';
import type { ActivePolicy } from './bind-policies.ts';
import { ConfigurationError, type ParamObjects, findParams, requireParams } from './params.ts';
import type { PolicyRequest } from './request.ts';

/** The evaluation of a policy for a request, with one binding and one parameter. */
export interface Invocation<Policy, Binding> {
  readonly fault?: undefined;
  readonly policy: Policy;
  readonly binding: Binding;
  /** The policy sees the object in the version of this resource. */
  readonly matched: ServedKind;
  /** Undefined stands for null. */
  readonly param: KubeObject | undefined;
}

/** A policy that matches a request and cannot be evaluated; its failurePolicy applies. */
export interface Misconfiguration<Policy, Binding> {
  readonly fault: string;
  readonly policy: Policy;
  /** Undefined when it concerns all of them. */
  readonly binding: Binding | undefined;
}

type AnyPolicy = CompiledPolicy<{ readonly spec: PolicySpec }, unknown>;
type AnyBinding = CompiledBinding<{ readonly spec: { readonly paramRef?: ParamRef } }>;

/** Collects the evaluations of a policy, binding by binding; none if it does not match. */
export function* collectInvocations<Policy extends AnyPolicy, Binding extends AnyBinding>(
  { policy, bindings }: ActivePolicy<Policy, Binding>,
  request: PolicyRequest,
  cluster: ClusterState,
): SyncTask<readonly (Invocation<Policy, Binding> | Misconfiguration<Policy, Binding>)[]> {
  const matched = policy.matches(request);
  if (!matched) return [];
  let objects: ParamObjects | undefined;
  try {
    objects = requireParams(policy.policy.spec.paramKind, cluster);
  } catch (error) {
    return [toMisconfiguration(policy, undefined, error)];
  }
  const found: (Invocation<Policy, Binding> | Misconfiguration<Policy, Binding>)[] = [];
  for (const binding of bindings) {
    if (!binding.matches(request)) continue;
    try {
      const { paramRef } = binding.binding.spec;
      if (!objects || !paramRef) {
        found.push({ policy, binding, matched, param: undefined });
        continue;
      }
      const params = yield* findParams(objects, paramRef, binding.matchesParam, request.namespace);
      for (const param of params) found.push({ policy, binding, matched, param });
    } catch (error) {
      found.push(toMisconfiguration(policy, binding, error));
    }
  }
  return found;
}

function toMisconfiguration<Policy, Binding>(
  policy: Policy,
  binding: Binding | undefined,
  error: unknown,
): Misconfiguration<Policy, Binding> {
  if (!(error instanceof ConfigurationError)) throw error;
  return { policy, binding, fault: `failed to configure ${binding ? 'binding' : 'policy'}: ${error.message}` };
}
