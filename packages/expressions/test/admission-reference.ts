import { readFileSync } from 'node:fs';
import { runSync, type SyncTask, type Task } from '@cluster-apiserver/base';
import type { AccessDecision, AccessAttributes } from '@cluster-apiserver/model';
import {
  createAdmissionEnvironment,
  createAdmissionValues,
  toApplyConfiguration,
  authorizationVariables,
  Budget,
  compileIn,
  compileVariables,
  type Environment,
  Evaluation,
  EvaluationError,
  formatTypeName,
  fromApiJson,
  toJsonPatch,
  typeOfKind,
  type Value,
  withVariables,
} from '../src/index.ts';
import type { Bindings } from '../src/run/frame.ts';
import { ConstructedObject } from '../src/values/constructed.ts';
import { show } from './reference.ts';
import { widget } from './widget.ts';

type Env = 'policy' | 'message' | 'mutation' | 'typed' | 'authorization';

/** What kube-apiserver says of an expression of an admission policy. */
export interface AdmissionAnswer {
  /** `policy` if nothing is said. `typed` is the check of types over one kind; nothing is evaluated then. */
  readonly env?: Env;
  readonly expr: string;
  /** Which of the samples it is evaluated over; `create` if nothing is said. */
  readonly data?: string;
  readonly variables?: readonly (readonly [name: string, expression: string])[];
  /** The first fault, if it is not accepted. */
  readonly refused?: string;
  readonly type?: string;
  readonly value?: string;
  readonly error?: string;
  /** What a mutation gives. */
  readonly json?: unknown;
  readonly jsonError?: string;
  /** In the units of kube-apiserver, which allows a million. */
  readonly cost?: number;
}

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));

/** Recorded from the environments that kube-apiserver 1.36.6 has for policies, mutations and match conditions. */
const recorded = read('admission-reference.json') as {
  readonly samples: Readonly<Record<string, Readonly<Record<string, object | null>>>>;
  readonly answers: readonly AdmissionAnswer[];
};
const { samples } = recorded;
export const { answers } = recorded;

const kind = typeOfKind('Widget', widget.schema);
const environments: Readonly<Record<Env, Environment>> = {
  policy: createAdmissionEnvironment({ hasParams: true, hasAuthorizer: true }),
  message: createAdmissionEnvironment({ hasParams: true }),
  mutation: createAdmissionEnvironment({ hasParams: true, hasAuthorizer: true, hasPatchTypes: true }),
  typed: createAdmissionEnvironment({ hasParams: true, hasAuthorizer: true, objectType: kind, paramsType: kind }),
  authorization: { variables: authorizationVariables },
};

/** How it is evaluated, which changes neither the answer nor its cost. */
export interface Conditions {
  /** The authorizer answers later. */
  readonly answersLater: boolean;
  readonly turnSteps?: number;
}

type Outcome = Partial<AdmissionAnswer> & { readonly steps?: number };

/** The same answer by this package, without a break. */
export const answer = (row: AdmissionAnswer): Outcome =>
  runSync(work(row, { answersLater: false }) as SyncTask<Outcome>);

/** The same answer, and how often the evaluation was interrupted. */
export async function answerInTurns(
  row: AdmissionAnswer,
  conditions: Conditions,
): Promise<{ readonly outcome: Outcome; readonly interruptions: number }> {
  const steps = work(row, conditions);
  let interruptions = 0;
  for (;;) {
    const { done, value } = steps.next();
    if (done) return { outcome: value, interruptions };
    interruptions++;
    await value;
  }
}

const steps = 1e9;

function* work(
  { env = 'policy', expr, data = 'create', variables = [] }: AdmissionAnswer,
  { answersLater, turnSteps }: Conditions,
): Task<Outcome> {
  const written = variables.map(([name, expression]) => ({ name, expression }));
  const composed = yield* compileVariables(environments.policy, written);
  const [fault] = composed.faults.values();
  if (fault !== undefined) return { refused: firstFault(fault) };
  const hasVariables = env !== 'typed' && env !== 'authorization';
  const environment = hasVariables ? withVariables(environments[env], composed.variables) : environments[env];
  const compiled = compileIn(environment, expr);
  if ('faults' in compiled) return { refused: firstFault(compiled.faults[0] as string) };
  const { expression } = compiled;
  const type = formatTypeName(expression.type);
  if (env === 'typed') return { type };
  if (env === 'authorization' && type !== 'bool') return { refused: `must evaluate to bool but got ${type}` };
  const total = new Budget(steps);
  const values = valuesOf(env, samples[data] ?? {}, answersLater);
  const evaluation = new Evaluation(values, composed.variables, total, turnSteps);
  try {
    const value = yield* evaluation.evaluate(expression);
    return { type, value: show(value), ...(env === 'mutation' && mutationOf(value)), steps: steps - total.left };
  } catch (error) {
    if (error instanceof EvaluationError) return { type, error: error.message, steps: steps - total.left };
    throw error;
  }
}

const firstFault = (fault: string): string => /ERROR: <input>:(.*)/.exec(fault)?.[1] ?? fault;

function valuesOf(env: Env, sample: (typeof samples)[string], answersLater: boolean): Bindings {
  const { object, oldObject, params, request, namespaceObject, review } = sample;
  if (env === 'authorization') return new Map([['request', fromApiJson(review)]]);
  return createAdmissionValues({
    object,
    oldObject,
    params,
    request: request ?? {},
    namespaceObject,
    authorizer: {
      authorize: answersLater ? (attributes) => Promise.resolve(authorize(attributes)) : authorize,
      user: { name: 'alice', groups: [] },
      requestResource: { group: 'g', resource: 'things', subresource: 'status', namespace: 'ns', name: 'thing' },
    },
  });
}

/** Tells the whole attributes as its reason. */
function authorize({ user, verb, path, resource }: AccessAttributes): AccessDecision {
  const { group = '', namespace = '', name = '', subresource = '' } = resource ?? {};
  const reason = `${user.name} ${verb} ${group} ${resource?.resource ?? ''}/${subresource} ns=${namespace} name=${name} path=${path}`;
  switch (verb) {
    case 'get':
      return { verdict: 'allow', reason };
    case 'deny':
      return { verdict: 'deny', reason };
    case 'fail':
      return { verdict: 'noOpinion', reason, error: new Error('broken') };
    default:
      return { verdict: 'noOpinion', reason };
  }
}

function mutationOf(value: Value): Pick<AdmissionAnswer, 'json' | 'jsonError'> {
  if (!Array.isArray(value) && !(value instanceof ConstructedObject)) return {};
  try {
    return { json: Array.isArray(value) ? toJsonPatch(value) : toApplyConfiguration(value) };
  } catch (error) {
    if (error instanceof EvaluationError) return { jsonError: error.message };
    throw error;
  }
}
