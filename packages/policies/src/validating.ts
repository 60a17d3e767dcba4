import type { Work } from '@cluster-apiserver/base';
import {
  BudgetExceededError,
  Budget,
  Evaluation,
  type Expression,
  requestStepsMax,
  type Value,
} from '@cluster-apiserver/expressions';
import type {
  AuditAnnotation,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  Validation,
} from '@cluster-apiserver/kinds';
import {
  forbiddenName,
  type KubeObject,
  matcherOfField,
  type Reason,
  type ServedKind,
  StatusError,
} from '@cluster-apiserver/model';
import { meetsConditions, outcomeOf, PolicyCompiler, PolicyCompileError } from './compiled.ts';
import type { ActivePolicy } from './active-policies.ts';
import { type Matches, matcherOf } from './matching.ts';
import { ConfigurationError, type FindParams, type ParamObjects, paramsOf, requireParams } from './params.ts';
import { nameOf, type PolicyRequest } from './request.ts';

/** A policy, ready to be evaluated. */
export interface CompiledValidatingPolicy {
  readonly name: string;
  readonly policy: ValidatingAdmissionPolicy;
  readonly matches: Matches;
  /** Set when its expressions cannot be used. */
  readonly fault?: string;
  readonly compiler?: PolicyCompiler;
  readonly conditions: readonly Expression[];
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly (AuditAnnotation & { readonly compiled: Expression })[];
}

interface CompiledValidation extends Validation {
  readonly compiled: Expression;
  readonly compiledMessage: Expression | undefined;
}

export interface CompiledValidatingBinding {
  readonly name: string;
  readonly policyName: string;
  readonly binding: ValidatingAdmissionPolicyBinding;
  readonly matches: Matches;
  readonly matchesParam: (labels: Readonly<Record<string, string>>) => boolean;
}

export function compileValidatingPolicy(policy: ValidatingAdmissionPolicy): CompiledValidatingPolicy {
  const { spec, metadata } = policy;
  const base = { name: metadata.name ?? '', policy, matches: matcherOf(spec.matchConstraints) };
  const nothing = { conditions: [], validations: [], auditAnnotations: [] };
  try {
    const compiler = new PolicyCompiler(spec);
    return {
      ...base,
      compiler,
      conditions: compiler.conditions(spec.matchConditions ?? []),
      validations: (spec.validations ?? []).map((validation) => ({
        ...validation,
        compiled: compiler.compile(validation.expression),
        compiledMessage: validation.messageExpression ? compiler.compile(validation.messageExpression, {}) : undefined,
      })),
      auditAnnotations: (spec.auditAnnotations ?? []).map((annotation) => ({
        ...annotation,
        compiled: compiler.compile(annotation.valueExpression),
      })),
    };
  } catch (error) {
    if (!(error instanceof PolicyCompileError)) throw error;
    return { ...base, ...nothing, fault: error.message };
  }
}

export function compileValidatingBinding(binding: ValidatingAdmissionPolicyBinding): CompiledValidatingBinding {
  const { spec, metadata } = binding;
  return {
    name: metadata.name ?? '',
    policyName: spec.policyName ?? '',
    binding,
    matches: matcherOf(spec.matchResources),
    matchesParam: matcherOfField(spec.paramRef?.selector ?? {}),
  };
}

/** Why a request is denied. */
interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: Reason;
}

/** What one evaluation found wrong: a validation that failed, or an error that counts as one. */
interface Failure {
  readonly index: number;
  readonly message: string;
  readonly reason: Reason;
}

export type ActiveValidatingPolicy = ActivePolicy<CompiledValidatingPolicy, CompiledValidatingBinding>;

/** Throws the denial of the first policy that denies. */
export function* validateByPolicies(
  active: readonly ActiveValidatingPolicy[],
  request: PolicyRequest,
  findParams: FindParams,
): Work<void> {
  const denials: Denial[] = [];
  for (const { policy, bindings } of active) {
    const matched = policy.matches(request);
    if (!matched) continue;
    const denyBy = (binding: string | undefined, message: string): void => {
      if (policy.policy.spec.failurePolicy !== 'Ignore')
        denials.push({ policy: policy.name, binding, message, reason: invalid });
    };
    let objects: ParamObjects | undefined;
    try {
      objects = requireParams(policy.policy.spec.paramKind, findParams);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      denyBy(undefined, `failed to configure policy: ${error.message}`);
      continue;
    }
    const annotations = new Map<string, Set<string>>();
    for (const binding of bindings) {
      if (!binding.matches(request)) continue;
      try {
        for (const param of paramsFor(objects, binding, request))
          denials.push(...(yield* denialsOf(policy, binding, request, matched, param, annotations)));
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error;
        denyBy(binding.name, `failed to configure binding: ${error.message}`);
      }
    }
    for (const [key, values] of annotations) request.context.annotate(`${policy.name}/${key}`, [...values].join(', '));
  }
  const [first] = denials;
  if (first) throw denied(request, first);
}

const paramsFor = (
  objects: ParamObjects | undefined,
  { binding, matchesParam }: CompiledValidatingBinding,
  { namespace }: PolicyRequest,
): readonly (KubeObject | undefined)[] => paramsOf(objects, binding.spec.paramRef, matchesParam, namespace);

/** Does what the binding says about failures, and gives those that deny. */
function* denialsOf(
  policy: CompiledValidatingPolicy,
  { name, binding }: CompiledValidatingBinding,
  request: PolicyRequest,
  matched: ServedKind,
  param: KubeObject | undefined,
  annotations: Map<string, Set<string>>,
): Work<Denial[]> {
  const values = request.valuesFor(matched, param);
  const evaluation = evaluationOf(policy, values);
  // What is told to people and to the audit may not ask for rights, not even by a variable.
  const telling = evaluationOf(policy, new Map([...values].filter(([name]) => !name.startsWith('authorizer'))));
  const actions = binding.spec.validationActions ?? [];
  const failures = yield* failuresOf(policy, evaluation, telling);
  if (failures === undefined) return [];
  const denials: Denial[] = [];
  for (const { index, message, reason } of failures) {
    const { warn, annotate } = request.context;
    if (actions.includes('Deny')) denials.push({ policy: policy.name, binding: name, message, reason });
    if (actions.includes('Audit'))
      annotate(
        'validation.policy.admission.k8s.io/validation_failure',
        JSON.stringify([
          { message, policy: policy.name, binding: name, expressionIndex: index, validationActions: actions },
        ]),
      );
    if (actions.includes('Warn'))
      warn(`Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${name}': ${message}`);
  }
  const errors = yield* collectAnnotations(policy, telling, annotations);
  if (policy.policy.spec.failurePolicy !== 'Ignore')
    denials.push(...errors.map((message) => ({ policy: policy.name, binding: name, message, reason: invalid })));
  return denials;
}

const evaluationOf = ({ compiler }: CompiledValidatingPolicy, values: ReadonlyMap<string, Value>): Evaluation =>
  new Evaluation(values, compiler?.variables, new Budget(requestStepsMax));

/** Undefined when a match condition does not hold. */
function* failuresOf(
  policy: CompiledValidatingPolicy,
  evaluation: Evaluation,
  telling: Evaluation,
): Work<Failure[] | undefined> {
  const { fault, policy: written } = policy;
  const ofErrors = (message: string): Failure[] =>
    written.spec.failurePolicy === 'Ignore' ? [] : [{ index: 0, message, reason: invalid }];
  if (fault !== undefined) return ofErrors(fault);
  try {
    const met = yield* meetsConditions(evaluation, policy.conditions);
    if (met.error !== undefined) return ofErrors(met.error);
    if (!met.value) return undefined;
    const failures: Failure[] = [];
    for (const [index, validation] of policy.validations.entries()) {
      const outcome = yield* outcomeOf(evaluation, validation.compiled, (value) => value === true);
      if (outcome.error !== undefined) failures.push(...ofErrors(outcome.error).map((one) => ({ ...one, index })));
      else if (!outcome.value)
        failures.push({
          index,
          message: yield* messageOf(validation, telling),
          reason: (validation.reason as Reason | undefined) ?? invalid, // validation knows no others
        });
    }
    return failures;
  } catch (error) {
    if (error instanceof BudgetExceededError) return ofErrors(error.message);
    throw error;
  }
}

/** Of what an expression says; a longer text is no message. */
const messageBytesMax = 5 * 1024;

function* messageOf(
  { compiledMessage, message = '', expression }: CompiledValidation,
  evaluation: Evaluation,
): Work<string> {
  if (compiledMessage) {
    const outcome = yield* outcomeOf(evaluation, compiledMessage, (value) =>
      typeof value === 'string' ? value.trim() : '',
    );
    const made = outcome.error === undefined ? outcome.value : '';
    if (made !== '' && !made.includes('\n') && Buffer.byteLength(made) <= messageBytesMax) return made;
  }
  return message.trim() || `failed expression: ${expression.trim()}`;
}

/** Of one annotation. */
const annotationBytesMax = 10 * 1024;

/** Adds what the policy tells the audit, and gives what went wrong with it. */
function* collectAnnotations(
  { auditAnnotations }: CompiledValidatingPolicy,
  evaluation: Evaluation,
  annotations: Map<string, Set<string>>,
): Work<string[]> {
  const errors: string[] = [];
  for (const { key, compiled } of auditAnnotations) {
    const outcome = yield* outcomeOf(evaluation, compiled, (value) => (typeof value === 'string' ? value.trim() : ''));
    if (outcome.error !== undefined) errors.push(outcome.error);
    else if (outcome.value !== '') {
      const values = annotations.get(key) ?? new Set();
      annotations.set(key, values.add(Buffer.from(outcome.value).subarray(0, annotationBytesMax).toString()));
    }
  }
  return errors;
}

const invalid: Reason = 'Invalid';

function denied({ context }: PolicyRequest, { policy, binding, message, reason }: Denial): StatusError {
  const by = binding === undefined ? '' : ` with binding '${binding}'`;
  const told = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
  const refusal = forbiddenName(context.resource, nameOf(context), told, [{ message: told }]);
  return new StatusError(reason, refusal.message, refusal.details);
}
