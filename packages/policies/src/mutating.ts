import type { Work } from '@cluster-apiserver/base';
import {
  applyConfigurationFrom,
  Budget,
  BudgetExceededError,
  Evaluation,
  EvaluationError,
  type Expression,
  jsonPatchFrom,
  requestStepsMax,
} from '@cluster-apiserver/expressions';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import {
  forbiddenName,
  type KubeObject,
  matcherOfField,
  PatchFailedError,
  PatchFormError,
  patchedByOperations,
  PatchTestFailedError,
  readJsonPatch,
  sameJson,
  type ServedKind,
  StatusError,
  TooManyOperationsError,
  WrongTypeError,
} from '@cluster-apiserver/model';
import type { ActivePolicy } from './active-policies.ts';
import { ConfigurationFault, mergeConfiguration } from './apply-configuration.ts';
import { meetsConditions, PolicyCompileError, PolicyCompiler } from './compiled.ts';
import { type Matches, matcherOf } from './matching.ts';
import { ConfigurationError, type FindParams, paramsOf, requireParams } from './params.ts';
import { nameOf, type PolicyRequest } from './request.ts';

/** A policy, ready to be evaluated. */
export interface CompiledMutatingPolicy {
  readonly name: string;
  readonly policy: MutatingAdmissionPolicy;
  readonly matches: Matches;
  /** Set when its expressions cannot be used. */
  readonly fault?: string;
  readonly compiler?: PolicyCompiler;
  readonly conditions: readonly Expression[];
  readonly mutations: readonly CompiledMutation[];
}

interface CompiledMutation {
  readonly patchType: string;
  readonly compiled: Expression;
}

export interface CompiledMutatingBinding {
  readonly name: string;
  readonly policyName: string;
  readonly binding: MutatingAdmissionPolicyBinding;
  readonly matches: Matches;
  readonly matchesParam: (labels: Readonly<Record<string, string>>) => boolean;
}

export type ActiveMutatingPolicy = ActivePolicy<CompiledMutatingPolicy, CompiledMutatingBinding>;

const patching = { hasAuthorizer: true, hasPatchTypes: true };

export function compileMutatingPolicy(policy: MutatingAdmissionPolicy): CompiledMutatingPolicy {
  const { spec, metadata } = policy;
  const base = { name: metadata.name ?? '', policy, matches: matcherOf(spec.matchConstraints) };
  try {
    const compiler = new PolicyCompiler(spec);
    return {
      ...base,
      compiler,
      conditions: compiler.conditions(spec.matchConditions ?? []),
      mutations: (spec.mutations ?? []).map(({ patchType, applyConfiguration, jsonPatch }) => ({
        patchType,
        compiled: compiler.compile((applyConfiguration ?? jsonPatch)?.expression ?? '', patching),
      })),
    };
  } catch (error) {
    if (!(error instanceof PolicyCompileError)) throw error;
    return { ...base, conditions: [], mutations: [], fault: error.message };
  }
}

export function compileMutatingBinding(binding: MutatingAdmissionPolicyBinding): CompiledMutatingBinding {
  const { spec, metadata } = binding;
  return {
    name: metadata.name ?? '',
    policyName: spec.policyName ?? '',
    binding,
    matches: matcherOf(spec.matchResources),
    matchesParam: matcherOfField(spec.paramRef?.selector ?? {}),
  };
}

/** A policy with a binding and a parameter that a request meets. */
interface Invocation {
  readonly policy: CompiledMutatingPolicy;
  readonly binding: CompiledMutatingBinding;
  readonly matched: ServedKind;
  readonly param: KubeObject | undefined;
  /** Whether the policy acts again when others have changed the object after it. */
  readonly isReinvocable: boolean;
}

/** What a policy could not do. */
interface PolicyFailure {
  readonly policy: CompiledMutatingPolicy;
  readonly message: string;
  readonly reason: 'Invalid' | 'Forbidden';
}

/** The object as the policies want it, in their order. Throws when one that must not be left out fails. */
export function* mutateByPolicies(
  active: readonly ActiveMutatingPolicy[],
  request: PolicyRequest,
  findParams: FindParams,
): Work<KubeObject> {
  const failures: PolicyFailure[] = [];
  const invocations = invocationsFor(active, request, findParams, failures).filter(
    ({ isReinvocable }) => isReinvocable || !request.context.reinvocation,
  );
  let now = request;
  const invoke = function* (invocation: Invocation): Work<boolean> {
    const before = now.object;
    const object = yield* invoked(invocation, now, failures);
    if (object === before || sameJson(object, before)) return false;
    now = now.withObject(object);
    return true;
  };
  let lastChange = -1;
  for (const [index, invocation] of invocations.entries()) if (yield* invoke(invocation)) lastChange = index;
  for (const [index, invocation] of invocations.entries())
    if (invocation.isReinvocable && index < lastChange) yield* invoke(invocation);
  const refused = failures.filter(({ policy }) => policy.policy.spec.failurePolicy !== 'Ignore');
  if (refused.length > 0) throw denied(request, refused);
  return now.object;
}

function invocationsFor(
  active: readonly ActiveMutatingPolicy[],
  request: PolicyRequest,
  findParams: FindParams,
  failures: PolicyFailure[],
): readonly Invocation[] {
  const found: Invocation[] = [];
  for (const { policy, bindings } of active) {
    const matched = policy.matches(request);
    if (!matched) continue;
    const { paramKind, reinvocationPolicy } = policy.policy.spec;
    const failed = (by: string, error: unknown): void => {
      if (!(error instanceof ConfigurationError)) throw error;
      failures.push({ policy, message: `${by} ${error.message}`, reason: 'Forbidden' });
    };
    try {
      const objects = requireParams(paramKind, findParams);
      for (const binding of bindings) {
        if (!binding.matches(request)) continue;
        try {
          const { paramRef } = binding.binding.spec;
          for (const param of paramsOf(objects, paramRef, binding.matchesParam, request.namespace))
            found.push({ policy, binding, matched, param, isReinvocable: reinvocationPolicy === 'IfNeeded' });
        } catch (error) {
          failed(`${told(policy, binding)} failed to configure binding:`, error);
        }
      }
    } catch (error) {
      failed(`policy ${JSON.stringify(policy.name)} denied request: failed to configure policy:`, error);
    }
  }
  return found;
}

const told = ({ name }: CompiledMutatingPolicy, binding: CompiledMutatingBinding): string =>
  `policy '${name}' with binding '${binding.name}' denied request:`;

/** The object after the mutations of one policy. What fails changes nothing. */
function* invoked(
  { policy, binding, matched, param }: Invocation,
  request: PolicyRequest,
  failures: PolicyFailure[],
): Work<KubeObject> {
  const failed = (message: string): void =>
    void failures.push({ policy, message: `${told(policy, binding)} ${message}`, reason: 'Invalid' });
  const evaluationOver = (over: PolicyRequest): Evaluation =>
    new Evaluation(over.valuesFor(matched, param), policy.compiler?.variables, new Budget(requestStepsMax));
  if (policy.fault !== undefined) {
    failed(policy.fault);
    return request.object;
  }
  let now = request;
  try {
    const met = yield* meetsConditions(evaluationOver(now), policy.conditions);
    if (met.error !== undefined) failed(met.error);
    if (met.error !== undefined || !met.value) return request.object;
    for (const mutation of policy.mutations) {
      try {
        now = now.withObject(yield* mutated(mutation, matched, now, evaluationOver(now)));
      } catch (error) {
        failed(faultIn(mutation, error));
      }
    }
  } catch (error) {
    if (!(error instanceof BudgetExceededError)) throw error;
    failed(error.message);
  }
  return now.object;
}

function* mutated(
  { patchType, compiled }: CompiledMutation,
  matched: ServedKind,
  request: PolicyRequest,
  evaluation: Evaluation,
): Work<KubeObject> {
  const value = yield* evaluation.evaluate(compiled);
  const object = request.objectFor(matched);
  if (patchType === 'ApplyConfiguration') {
    const merged = mergeConfiguration(request.schemaFor(matched), object, applyConfigurationFrom(value));
    return withoutOwnership(request.storedFrom(matched, merged));
  }
  const operations = readJsonPatch(jsonPatchFrom(value));
  try {
    const patched = yield* patchedByOperations(object, operations);
    return request.storedFrom(matched, patched);
  } catch (error) {
    if (error instanceof PatchTestFailedError) return request.object;
    throw error;
  }
}

/** Who owns the fields of an applied configuration is not recorded: kube-apiserver then records no owners at all. */
function withoutOwnership(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** In the words of an answer. Faults of ours are thrown. */
function faultIn({ compiled }: CompiledMutation, error: unknown): string {
  if (error instanceof EvaluationError) return `expression '${compiled.text}' resulted in error: ${error.message}`;
  if (error instanceof ConfigurationFault) return `error applying patch: ${error.message}`;
  if (error instanceof PatchFailedError || error instanceof PatchFormError || error instanceof TooManyOperationsError)
    return `JSON Patch: ${error.message}`;
  if (error instanceof WrongTypeError) return `the patched object is invalid: ${error.message}`;
  throw error;
}

function denied({ context }: PolicyRequest, failures: readonly PolicyFailure[]): StatusError {
  const [{ message, reason }] = failures as [PolicyFailure, ...PolicyFailure[]];
  const causes = failures.map((one) => ({ message: one.message }));
  const { details } = forbiddenName(context.resource, nameOf(context), message, causes);
  return new StatusError(reason, message, details, { code: 403 });
}
