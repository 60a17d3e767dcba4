import { awaitValue, type SyncTask, type Task } from '@cluster-apiserver/base';
import { type Bindings, BudgetExceededError, Evaluation, type Expression } from '@cluster-apiserver/expressions';
import {
  type AuditAnnotation,
  findValidationReason,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
  type Validation,
} from '@cluster-apiserver/kinds';
import { forbiddenResource, type Reason, StatusError } from '@cluster-apiserver/model';
import type { CompiledBinding, CompiledPolicy, CompileExpression, Program } from './compiled.ts';
import type { ActivePolicy } from './bind-policies.ts';
import { type Invocation, collectInvocations } from './invocations.ts';
import type { CheckError, Enforcement } from './policy-measures.ts';
import { type Failed, evaluateConditions, tryEvaluate, toBudgetFailure, secondsSince } from './evaluate.ts';
import type { EvaluateOptions } from './policy-sources.ts';
import { nameOf, type PolicyRequest } from './request.ts';

export interface ValidatingParts {
  readonly validations: readonly CompiledValidation[];
  readonly auditAnnotations: readonly (AuditAnnotation & { readonly compiled: Expression })[];
}

interface CompiledValidation extends Validation {
  readonly compiled: Expression;
  readonly compiledMessage: Expression | undefined;
}

export type CompiledValidatingPolicy = CompiledPolicy<ValidatingAdmissionPolicy, ValidatingParts>;
export type CompiledValidatingBinding = CompiledBinding<ValidatingAdmissionPolicyBinding>;
export type ActiveValidatingPolicy = ActivePolicy<CompiledValidatingPolicy, CompiledValidatingBinding>;
type ValidatingInvocation = Invocation<CompiledValidatingPolicy, CompiledValidatingBinding>;

export function* compileValidations(
  { spec }: ValidatingAdmissionPolicy,
  compile: CompileExpression,
): SyncTask<ValidatingParts> {
  const validations: CompiledValidation[] = [];
  for (const validation of spec.validations ?? []) {
    const { expression, messageExpression } = validation;
    validations.push({
      ...validation,
      compiled: compile(expression),
      compiledMessage: messageExpression ? compile(messageExpression, {}) : undefined,
    });
    yield;
  }
  const auditAnnotations: ValidatingParts['auditAnnotations'][number][] = [];
  for (const annotation of spec.auditAnnotations ?? []) {
    auditAnnotations.push({ ...annotation, compiled: compile(annotation.valueExpression) });
    yield;
  }
  return { validations, auditAnnotations };
}

/** Why a request is denied. */
interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: Reason;
}

/** Throws the denial of the first policy that denies. All of them are evaluated: each may warn and annotate. */
export function* validateByPolicies(
  active: readonly ActiveValidatingPolicy[],
  request: PolicyRequest,
  options: EvaluateOptions,
): Task<void> {
  let first: Denial | undefined;
  for (const one of active) {
    yield;
    const annotations = new Annotations();
    for (const invocation of yield* collectInvocations(one, request, options.cluster)) {
      const { policy, binding, fault } = invocation;
      if (fault === undefined) {
        yield* awaitValue(request.convertTo(invocation.matched));
        const denial = yield* enforce(invocation, request, annotations, options);
        first ??= denial;
      } else if (failsOnErrors(policy))
        first ??= { policy: policy.name, binding: binding?.name, message: fault, reason: invalid };
    }
    annotations.publish(one.policy.name, request);
  }
  if (first) throw createRefusal(request, first);
}

const failsOnErrors = ({ policy }: CompiledValidatingPolicy): boolean => policy.spec.failurePolicy !== 'Ignore';

/** A validation that is false, or an error. */
interface Failure {
  /** Of the validation. */
  readonly index: number;
  readonly message: string;
  readonly reason: Reason;
  readonly error: CheckError;
  readonly seconds: number;
}

/** Applies the validation actions of the binding to failures. Returns the first denial. */
function* enforce(
  { policy, binding, matched, param }: ValidatingInvocation,
  request: PolicyRequest,
  annotations: Annotations,
  options: EvaluateOptions,
): Task<Denial | undefined> {
  const evaluator = new Evaluator(policy, request, request.getValues(matched, param), options);
  const actions = binding.binding.spec.validationActions ?? [];
  const { validations, auditAnnotations } = yield* findFailures(evaluator, annotations);
  const { context } = request;
  const counted = ({ error, seconds }: Failure, action: Enforcement): void =>
    options.measures.checked(policy.name, binding.name, error, action, seconds);
  const isIgnored = ({ error }: Failure): boolean => error !== 'no_error' && !failsOnErrors(policy);
  let first: Failure | undefined;
  for (const failure of validations) {
    const { index, message } = failure;
    if (isIgnored(failure)) {
      counted(failure, 'allow');
      continue;
    }
    if (actions.includes('Audit')) {
      const { name } = policy;
      const found = {
        message,
        policy: name,
        binding: binding.name,
        expressionIndex: index,
        validationActions: actions,
      };
      context.annotate('validation.policy.admission.k8s.io/validation_failure', JSON.stringify([found]));
      counted(failure, 'audit');
    }
    if (actions.includes('Warn')) {
      context.warn(
        `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
      );
      counted(failure, 'warn');
    }
    if (actions.includes('Deny')) {
      counted(failure, 'deny');
      first ??= failure;
    }
  }
  for (const failure of auditAnnotations) {
    if (isIgnored(failure)) continue;
    counted(failure, 'deny');
    first ??= failure;
  }
  return first && { policy: policy.name, binding: binding.name, message: first.message, reason: first.reason };
}

/** The expressions of a policy over one request, with one parameter. */
class Evaluator {
  readonly policy: CompiledValidatingPolicy;
  readonly request: PolicyRequest;
  readonly options: EvaluateOptions;
  readonly evaluation: Evaluation;
  readonly #values: Bindings;
  #messageEvaluation: Evaluation | undefined;

  constructor(policy: CompiledValidatingPolicy, request: PolicyRequest, values: Bindings, options: EvaluateOptions) {
    this.policy = policy;
    this.request = request;
    this.options = options;
    this.#values = values;
    this.evaluation = this.#createEvaluation(values);
  }

  /** Messages and audit annotations cannot use the authorizer, not even by a variable. */
  get messageEvaluation(): Evaluation {
    const values = this.#values;
    this.#messageEvaluation ??= this.#createEvaluation({
      get: (name) => (name.startsWith('authorizer') ? undefined : values.get(name)),
    });
    return this.#messageEvaluation;
  }

  #createEvaluation(values: Bindings): Evaluation {
    const { program } = this.policy;
    return new Evaluation(values, program.fault === undefined ? program.variables : undefined, this.request.budget);
  }
}

interface Failures {
  readonly validations: readonly Failure[];
  /** They deny regardless of the validation actions. */
  readonly auditAnnotations: readonly Failure[];
}

const none: Failures = { validations: [], auditAnnotations: [] };

function* findFailures(evaluator: Evaluator, annotations: Annotations): Task<Failures> {
  const { policy, evaluation, request, options } = evaluator;
  const { name, program } = policy;
  if (program.fault !== undefined) return failAll({ error: program.fault, type: 'compile_error' });
  const { operation } = request.context;
  const { measures, clock } = options;
  const met = yield* evaluateConditions(evaluation, program.conditions, {
    name,
    operation,
    measures: measures.conditions,
    clock,
  });
  if (met.error !== undefined) return failAll(met);
  if (!met.value) return none;
  try {
    const validations = yield* evaluateValidations(evaluator, program);
    return { validations, auditAnnotations: yield* collectAnnotations(evaluator, program, annotations) };
  } catch (error) {
    if (error instanceof BudgetExceededError) return failAll(toBudgetFailure(error));
    throw error;
  }
}

const toFailure = ({ error, type }: Failed, index: number, seconds: number): Failure => ({
  index,
  message: error,
  reason: invalid,
  error: type,
  seconds,
});

/** An error that keeps the whole policy from being evaluated. */
const failAll = (failed: Failed): Failures => ({ ...none, validations: [toFailure(failed, 0, 0)] });

function* evaluateValidations(evaluator: Evaluator, { parts }: Program<ValidatingParts>): Task<readonly Failure[]> {
  const { evaluation, options } = evaluator;
  const failures: Failure[] = [];
  for (const [index, validation] of parts.validations.entries()) {
    const startMs = options.clock.monotonicMs();
    const outcome = yield* tryEvaluate(evaluation, validation.compiled, (value) => value === true);
    if (outcome.error === undefined && outcome.value) continue;
    const seconds = secondsSince(startMs, options.clock);
    if (outcome.error !== undefined) failures.push(toFailure(outcome, index, seconds));
    else
      failures.push({
        index,
        message: yield* evaluateMessage(validation, evaluator),
        reason: findValidationReason(validation.reason) ?? invalid,
        error: 'no_error',
        seconds,
      });
  }
  return failures;
}

/** Maximum size of the value of messageExpression; `message` replaces a longer one. */
const messageBytesMax = 5 * 1024;

function* evaluateMessage(
  { compiledMessage, message = '', expression }: CompiledValidation,
  evaluator: Evaluator,
): Task<string> {
  if (compiledMessage) {
    const outcome = yield* tryEvaluate(evaluator.messageEvaluation, compiledMessage, trim);
    const made = outcome.error === undefined ? outcome.value : '';
    if (made !== '' && !made.includes('\n') && Buffer.byteLength(made) <= messageBytesMax) return made;
  }
  return message.trim() || `failed expression: ${expression.trim()}`;
}

/** Maximum size of one annotation. */
const annotationBytesMax = 10 * 1024;

/** The audit annotations of one policy: different values of one key, by several bindings or parameters, are joined. */
class Annotations {
  #values: Map<string, Set<string>> | undefined;

  add(key: string, value: string): void {
    this.#values ??= new Map();
    const values = this.#values.get(key) ?? new Set();
    this.#values.set(key, values.add(truncate(value, annotationBytesMax)));
  }

  publish(policyName: string, { context }: PolicyRequest): void {
    for (const [key, values] of this.#values ?? []) context.annotate(`${policyName}/${key}`, [...values].join(', '));
  }
}

const truncate = (text: string, bytes: number): string =>
  Buffer.byteLength(text) <= bytes ? text : Buffer.from(text).subarray(0, bytes).toString();

/** Adds the audit annotations of a policy. Returns the failed ones. */
function* collectAnnotations(
  evaluator: Evaluator,
  { parts }: Program<ValidatingParts>,
  annotations: Annotations,
): Task<readonly Failure[]> {
  const { clock } = evaluator.options;
  const failures: Failure[] = [];
  for (const { key, compiled } of parts.auditAnnotations) {
    const startMs = clock.monotonicMs();
    const outcome = yield* tryEvaluate(evaluator.messageEvaluation, compiled, trim);
    if (outcome.error !== undefined) failures.push(toFailure(outcome, 0, secondsSince(startMs, clock)));
    else if (outcome.value !== '') annotations.add(key, outcome.value);
  }
  return failures;
}

/** Empty for other types than string. */
const trim = (value: unknown): string => (typeof value === 'string' ? value.trim() : '');

const invalid: Reason = 'Invalid';

function createRefusal({ context }: PolicyRequest, { policy, binding, message, reason }: Denial): StatusError {
  const by = binding === undefined ? '' : ` with binding '${binding}'`;
  const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
  const refusal = forbiddenResource(context.resource, nameOf(context), text, [{ message: text }]);
  return new StatusError(reason, refusal.message, refusal.details);
}
