import type { SyncTask } from '@cluster-apiserver/base';
import {
  createAdmissionEnvironment,
  type AdmissionOptions,
  compileIn,
  compileVariables,
  type Environment,
  type Expression,
  type VariableSet,
  withVariables,
} from '@cluster-apiserver/expressions';
import type { BindingSpec, MatchCondition, PolicySpec } from '@cluster-apiserver/kinds';
import type { KubeObject } from '@cluster-apiserver/model/kind';
import { matcherOfField } from '@cluster-apiserver/model/selector';
import { type Matcher, type Matches, createMatcher } from './matching.ts';

/** A policy, ready to be evaluated. */
export interface CompiledPolicy<Policy, Parts> extends Matcher {
  readonly name: string;
  readonly policy: Policy;
  /** Its compiled expressions, or why they could not be compiled. */
  readonly program: Program<Parts> | { readonly fault: string };
}

export interface Program<Parts> {
  readonly fault?: undefined;
  readonly variables: VariableSet;
  readonly conditions: readonly Expression[];
  readonly parts: Parts;
}

export interface CompiledBinding<Binding> {
  readonly name: string;
  readonly policyName: string;
  readonly binding: Binding;
  readonly matches: Matches;
  readonly matchesParam: (labels: Readonly<Record<string, string>>) => boolean;
}

/** Compiles an expression of a policy. */
export type CompileExpression = (expression: string, options?: AdmissionOptions) => Expression;

/** `compileParts` compiles what is specific to this type of policies, and yields between expressions. */
export function* compilePolicy<Policy extends KubeObject & { readonly spec: PolicySpec }, Parts>(
  policy: Policy,
  compileParts: (policy: Policy, compile: CompileExpression) => SyncTask<Parts>,
): SyncTask<CompiledPolicy<Policy, Parts>> {
  const { spec, metadata } = policy;
  const base = { name: metadata.name ?? '', policy, ...createMatcher(spec.matchConstraints) };
  try {
    const hasParams = spec.paramKind !== undefined;
    const environment = createAdmissionEnvironment({ hasAuthorizer: true, hasParams });
    const { variables, faults } = yield* compileVariables(environment, spec.variables ?? []);
    for (const fault of faults.values()) throw new PolicyCompileError(fault);
    const compile: CompileExpression = (expression, options = { hasAuthorizer: true }) =>
      requireExpression(
        compileIn(withVariables(createAdmissionEnvironment({ ...options, hasParams }), variables), expression),
      );
    const conditions = yield* compileConditions(environment, spec.matchConditions ?? []);
    return { ...base, program: { variables, conditions, parts: yield* compileParts(policy, compile) } };
  } catch (error) {
    if (!(error instanceof PolicyCompileError)) throw error;
    return { ...base, program: { fault: error.message } };
  }
}

export const compileBinding = <Binding extends KubeObject & { readonly spec: BindingSpec }>(
  binding: Binding,
): CompiledBinding<Binding> => ({
  name: binding.metadata.name ?? '',
  policyName: binding.spec.policyName ?? '',
  binding,
  matches: createMatcher(binding.spec.matchResources).matches,
  matchesParam: matcherOfField(binding.spec.paramRef?.selector ?? {}),
});

/** Match conditions cannot use variables. Throws a PolicyCompileError. */
export function* compileConditions(
  environment: Environment,
  conditions: readonly MatchCondition[],
): SyncTask<readonly Expression[]> {
  const compiled: Expression[] = [];
  for (const { expression } of conditions) {
    compiled.push(requireExpression(compileIn(environment, expression)));
    yield;
  }
  return compiled;
}

/** An expression does not compile although validation accepted it, perhaps in another version of the server. */
export class PolicyCompileError extends Error {
  override readonly name = 'PolicyCompileError';
}

function requireExpression(compiled: ReturnType<typeof compileIn>): Expression {
  if ('faults' in compiled) throw new PolicyCompileError(`compilation failed: ${compiled.faults.join('\n')}`);
  return compiled.expression;
}
