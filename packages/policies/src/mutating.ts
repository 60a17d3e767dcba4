import { awaitValue, requireValue, type SyncTask, type Task } from '@cluster-apiserver/base';
import {
  toApplyConfiguration,
  BudgetExceededError,
  Evaluation,
  EvaluationError,
  type Expression,
  toJsonPatch,
} from '@cluster-apiserver/expressions';
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from '@cluster-apiserver/kinds';
import { forbiddenResource, StatusError } from '@cluster-apiserver/model';
import { sameJson } from '@cluster-apiserver/model/json';
import type { KubeObject, ServedKind } from '@cluster-apiserver/model/kind';
import {
  PatchFailedError,
  PatchFormError,
  PatchTestFailedError,
  readJsonPatch,
  TooManyOperationsError,
} from '@cluster-apiserver/model/patch';
import { WrongTypeError } from '@cluster-apiserver/model/schema';
import { ConfigurationFault, mergeConfiguration } from './apply-configuration.ts';
import type { CompiledBinding, CompiledPolicy, CompileExpression } from './compiled.ts';
import type { ActivePolicy } from './bind-policies.ts';
import { type Invocation, collectInvocations } from './invocations.ts';
import type { CheckError } from './policy-measures.ts';
import { evaluateConditions, secondsSince, getErrorType } from './evaluate.ts';
import type { EvaluateOptions } from './policy-sources.ts';
import { nameOf, type PolicyRequest } from './request.ts';

export interface CompiledMutation {
  readonly patchType: string;
  readonly compiled: Expression;
}

export type CompiledMutatingPolicy = CompiledPolicy<MutatingAdmissionPolicy, readonly CompiledMutation[]>;
export type CompiledMutatingBinding = CompiledBinding<MutatingAdmissionPolicyBinding>;
export type ActiveMutatingPolicy = ActivePolicy<CompiledMutatingPolicy, CompiledMutatingBinding>;
type MutatingInvocation = Invocation<CompiledMutatingPolicy, CompiledMutatingBinding>;

const patching = { hasAuthorizer: true, hasPatchTypes: true };

export function* compileMutations(
  { spec }: MutatingAdmissionPolicy,
  compile: CompileExpression,
): SyncTask<readonly CompiledMutation[]> {
  const mutations: CompiledMutation[] = [];
  for (const { patchType, applyConfiguration, jsonPatch } of spec.mutations ?? []) {
    const expression = (applyConfiguration ?? jsonPatch)?.expression ?? '';
    mutations.push({ patchType, compiled: compile(expression, patching) });
    yield;
  }
  return mutations;
}

/** A policy that could not be evaluated or applied. */
interface PolicyFailure {
  readonly policy: CompiledMutatingPolicy;
  readonly binding: CompiledMutatingBinding | undefined;
  readonly message: string;
  readonly reason: 'Invalid' | 'Forbidden';
}

/** The object as the policies have changed it, in their order. Throws if one with the failure policy `Fail` fails. */
export function* mutateByPolicies(
  active: readonly ActiveMutatingPolicy[],
  request: PolicyRequest,
  options: EvaluateOptions,
): Task<KubeObject> {
  const failures: PolicyFailure[] = [];
  const invocations: MutatingInvocation[] = [];
  for (const one of active) {
    yield;
    for (const invocation of yield* collectInvocations(one, request, options.cluster)) {
      const { policy, binding, fault } = invocation;
      if (fault !== undefined) failures.push({ policy, binding, message: fault, reason: 'Forbidden' });
      else if (isReinvocable(invocation) || !request.context.reinvocation) invocations.push(invocation);
    }
  }
  let now = request;
  let lastChange = -1;
  for (const [index, invocation] of invocations.entries()) {
    const after = yield* applyInvocation(invocation, now, failures, options);
    if (after !== now) lastChange = index;
    now = after;
  }
  for (const [index, invocation] of invocations.entries())
    if (isReinvocable(invocation) && index < lastChange)
      now = yield* applyInvocation(invocation, now, failures, options);
  const refused = failures.filter(({ policy }) => policy.policy.spec.failurePolicy !== 'Ignore');
  if (refused.length > 0) throw createRefusal(request, refused);
  return now.object;
}

/** Whether the policy is applied again if others have changed the object after it. */
const isReinvocable = ({ policy }: MutatingInvocation): boolean => policy.policy.spec.reinvocationPolicy === 'IfNeeded';

/** Applies one policy. Returns the same request if nothing has changed. */
function* applyInvocation(
  invocation: MutatingInvocation,
  request: PolicyRequest,
  failures: PolicyFailure[],
  options: EvaluateOptions,
): Task<PolicyRequest> {
  const object = yield* applyPolicy(invocation, request, failures, options);
  return object === request.object || sameJson(object, request.object) ? request : request.withObject(object);
}

/** The object after the mutations of one policy. A failed mutation changes nothing. */
function* applyPolicy(
  { policy, binding, matched, param }: MutatingInvocation,
  request: PolicyRequest,
  failures: PolicyFailure[],
  { measures, clock }: EvaluateOptions,
): Task<KubeObject> {
  const { name, program } = policy;
  const failed = (message: string): void => void failures.push({ policy, binding, message, reason: 'Invalid' });
  if (program.fault !== undefined) {
    measures.checked(name, binding.name, 'compile_error', 'deny', 0);
    failed(program.fault);
    return request.object;
  }
  const evaluationOver = (over: PolicyRequest): Evaluation =>
    new Evaluation(over.getValues(matched, param), program.variables, over.budget);
  yield* awaitValue(request.convertTo(matched));
  const { operation } = request.context;
  const met = yield* evaluateConditions(evaluationOver(request), program.conditions, {
    name,
    operation,
    measures: measures.conditions,
    clock,
  });
  if (met.error !== undefined) failed(met.error);
  if (met.error !== undefined || !met.value) return request.object;
  let now = request;
  for (const mutation of program.parts) {
    const startMs = clock.monotonicMs();
    const counted = (error: CheckError): void =>
      measures.checked(
        name,
        binding.name,
        error,
        error === 'no_error' ? 'allow' : 'deny',
        secondsSince(startMs, clock),
      );
    yield* awaitValue(now.convertTo(matched));
    try {
      now = now.withObject(yield* applyMutation(mutation, matched, now, evaluationOver(now)));
      counted('no_error');
    } catch (error) {
      failed(describeError(mutation, error));
      if (error instanceof BudgetExceededError) {
        counted('out_of_budget');
        break;
      }
      counted(error instanceof EvaluationError ? getErrorType(error) : 'invalid_error');
    }
  }
  return now.object;
}

function* applyMutation(
  { patchType, compiled }: CompiledMutation,
  matched: ServedKind,
  request: PolicyRequest,
  evaluation: Evaluation,
): Task<KubeObject> {
  const value = yield* evaluation.evaluate(compiled);
  if (patchType === 'ApplyConfiguration') {
    const configuration = toApplyConfiguration(value);
    const merged = mergeConfiguration(request.getSchema(matched), request.getObject(matched), configuration);
    return dropManagedFields(yield* request.decodePatched(matched, merged));
  }
  const patch = readJsonPatch(toJsonPatch(value));
  try {
    return yield* request.applyPatch(matched, patch);
  } catch (error) {
    if (error instanceof PatchTestFailedError) return request.object;
    throw error;
  }
}

/** As in kube-apiserver, an apply configuration leaves no managedFields: the owners of its fields are unknown. */
function dropManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** The message of an error for the answer. Internal errors are thrown. */
function describeError({ compiled }: CompiledMutation, error: unknown): string {
  if (error instanceof BudgetExceededError) return error.message;
  if (error instanceof EvaluationError) return `expression '${compiled.text}' resulted in error: ${error.message}`;
  if (error instanceof ConfigurationFault) return `error applying patch: ${error.message}`;
  if (error instanceof PatchFailedError || error instanceof PatchFormError || error instanceof TooManyOperationsError)
    return `JSON Patch: ${error.message}`;
  if (error instanceof WrongTypeError) return `the patched object is invalid: ${error.message}`;
  throw error;
}

function createRefusal({ context }: PolicyRequest, failures: readonly PolicyFailure[]): StatusError {
  const first = requireValue(failures[0], 'a policy has failed');
  const message = describeFailure(first);
  const causes = failures.map((failure) => ({ message: describeFailure(failure) }));
  const { details } = forbiddenResource(context.resource, nameOf(context), message, causes);
  return new StatusError(first.reason, message, details, { code: 403 });
}

const describeFailure = ({ policy: { name }, binding, message }: PolicyFailure): string =>
  `policy ${binding ? `'${name}' with binding '${binding.name}'` : JSON.stringify(name)} denied request: ${message}`;
