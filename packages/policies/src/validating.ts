import type { Steps, Work } from '@cluster-apiserver/base';
import { BudgetExceededError, Evaluation, type Expression, type Value } from '@cluster-apiserver/expressions';
import type {
  AuditAnnotation,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
  Validation,
} from '@cluster-apiserver/kinds';
import { forbiddenName, type Reason, StatusError } from '@cluster-apiserver/model';
import {
  type CompiledBinding,
  type CompiledPolicy,
  type CompileExpression,
  meetsConditions,
  outcomeOf,
  type Program,
} from './compiled.ts';
import type { ActivePolicy } from './bind-policies.ts';
import { type Invocation, invocationsOf } from './invocations.ts';
import type { PolicyEnvironment } from './environment.ts';
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
): Steps<ValidatingParts> {
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
  environment: PolicyEnvironment,
): Work<void> {
  let first: Denial | undefined;
  for (const one of active) {
    yield;
    const matched = one.policy.matches(request);
    if (!matched) continue;
    const annotations = new Annotations();
    for (const invocation of yield* invocationsOf(one, matched, request, environment)) {
      const { policy, binding, fault } = invocation;
      if (fault === undefined) {
        const denial = yield* denialOf(invocation, request, annotations);
        first ??= denial;
      } else if (failsOnErrors(policy))
        first ??= { policy: policy.name, binding: binding?.name, message: fault, reason: invalid };
    }
    annotations.publish(one.policy.name, request);
  }
  if (first) throw denied(request, first);
}

const failsOnErrors = ({ policy }: CompiledValidatingPolicy): boolean => policy.spec.failurePolicy !== 'Ignore';

/** What one evaluation found wrong: a validation that failed, or an error that counts as one. */
interface Failure {
  readonly index: number;
  readonly message: string;
  readonly reason: Reason;
}

/** Does what the binding says about failures, and gives the first that denies. */
function* denialOf(
  { policy, binding, matched, param }: ValidatingInvocation,
  request: PolicyRequest,
  annotations: Annotations,
): Work<Denial | undefined> {
  const evaluator = new Evaluator(policy, request, request.valuesFor(matched, param));
  const actions = binding.binding.spec.validationActions ?? [];
  const { failures, errors } = yield* findingsOf(evaluator, annotations);
  const { warn, annotate } = request.context;
  for (const { index, message } of failures) {
    if (actions.includes('Audit'))
      annotate(
        'validation.policy.admission.k8s.io/validation_failure',
        JSON.stringify([
          {
            message,
            policy: policy.name,
            binding: binding.name,
            expressionIndex: index,
            validationActions: actions,
          },
        ]),
      );
    if (actions.includes('Warn'))
      warn(
        `Validation failed for ValidatingAdmissionPolicy '${policy.name}' with binding '${binding.name}': ${message}`,
      );
  }
  const [failure] = actions.includes('Deny') ? failures : [];
  const [error] = errors;
  if (failure) return { policy: policy.name, binding: binding.name, ...failure };
  return error === undefined
    ? undefined
    : { policy: policy.name, binding: binding.name, message: error, reason: invalid };
}

/** The expressions of a policy over one request, with one parameter. */
class Evaluator {
  readonly policy: CompiledValidatingPolicy;
  readonly deciding: Evaluation;
  readonly #values: ReadonlyMap<string, Value>;
  readonly #request: PolicyRequest;
  #describing: Evaluation | undefined;

  constructor(policy: CompiledValidatingPolicy, request: PolicyRequest, values: ReadonlyMap<string, Value>) {
    this.policy = policy;
    this.#request = request;
    this.#values = values;
    this.deciding = this.#over(values);
  }

  /** Messages and audit annotations cannot ask for rights, not even by a variable. */
  get describing(): Evaluation {
    this.#describing ??= this.#over(new Map([...this.#values].filter(([name]) => !name.startsWith('authorizer'))));
    return this.#describing;
  }

  #over(values: ReadonlyMap<string, Value>): Evaluation {
    const { program } = this.policy;
    return new Evaluation(values, program.fault === undefined ? program.variables : undefined, this.#request.budget);
  }
}

interface Findings {
  readonly failures: readonly Failure[];
  /** Of audit annotations: they deny whatever the binding says. */
  readonly errors: readonly string[];
}

const nothing: Findings = { failures: [], errors: [] };

function* findingsOf(evaluator: Evaluator, annotations: Annotations): Work<Findings> {
  const { policy, deciding } = evaluator;
  const { program } = policy;
  const ofError = (message: string): Findings =>
    failsOnErrors(policy) ? { failures: [{ index: 0, message, reason: invalid }], errors: [] } : nothing;
  if (program.fault !== undefined) return ofError(program.fault);
  try {
    const met = yield* meetsConditions(deciding, program.conditions);
    if (met.error !== undefined) return ofError(met.error);
    if (!met.value) return nothing;
    const failures = yield* failuresOf(evaluator, program);
    const errors = yield* collectAnnotations(evaluator, program, annotations);
    return { failures, errors: failsOnErrors(policy) ? errors : [] };
  } catch (error) {
    if (error instanceof BudgetExceededError) return ofError(error.message);
    throw error;
  }
}

function* failuresOf(evaluator: Evaluator, { parts }: Program<ValidatingParts>): Work<Failure[]> {
  const failures: Failure[] = [];
  for (const [index, validation] of parts.validations.entries()) {
    const outcome = yield* outcomeOf(evaluator.deciding, validation.compiled, (value) => value === true);
    if (outcome.error !== undefined) {
      if (failsOnErrors(evaluator.policy)) failures.push({ index, message: outcome.error, reason: invalid });
    } else if (!outcome.value)
      failures.push({
        index,
        message: yield* messageOf(validation, evaluator),
        reason: (validation.reason as Reason | undefined) ?? invalid, // validation knows no others
      });
  }
  return failures;
}

/** Of the value of messageExpression; message takes the place of a longer one. */
const messageBytesMax = 5 * 1024;

function* messageOf(
  { compiledMessage, message = '', expression }: CompiledValidation,
  evaluator: Evaluator,
): Work<string> {
  if (compiledMessage) {
    const outcome = yield* outcomeOf(evaluator.describing, compiledMessage, (value) =>
      typeof value === 'string' ? value.trim() : '',
    );
    const made = outcome.error === undefined ? outcome.value : '';
    if (made !== '' && !made.includes('\n') && Buffer.byteLength(made) <= messageBytesMax) return made;
  }
  return message.trim() || `failed expression: ${expression.trim()}`;
}

/** Of one annotation. */
const annotationBytesMax = 10 * 1024;

/** The audit annotations of one policy: different values of one key, by several bindings or parameters, are joined. */
class Annotations {
  #values: Map<string, Set<string>> | undefined;

  add(key: string, value: string): void {
    this.#values ??= new Map();
    const values = this.#values.get(key) ?? new Set();
    this.#values.set(key, values.add(firstBytesOf(value, annotationBytesMax)));
  }

  publish(policyName: string, { context }: PolicyRequest): void {
    for (const [key, values] of this.#values ?? []) context.annotate(`${policyName}/${key}`, [...values].join(', '));
  }
}

const firstBytesOf = (text: string, bytes: number): string =>
  Buffer.byteLength(text) <= bytes ? text : Buffer.from(text).subarray(0, bytes).toString();

/** Adds what the policy tells the audit, and gives what went wrong with it. */
function* collectAnnotations(
  evaluator: Evaluator,
  { parts }: Program<ValidatingParts>,
  annotations: Annotations,
): Work<string[]> {
  const errors: string[] = [];
  for (const { key, compiled } of parts.auditAnnotations) {
    const outcome = yield* outcomeOf(evaluator.describing, compiled, (value) =>
      typeof value === 'string' ? value.trim() : '',
    );
    if (outcome.error !== undefined) errors.push(outcome.error);
    else if (outcome.value !== '') annotations.add(key, outcome.value);
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
