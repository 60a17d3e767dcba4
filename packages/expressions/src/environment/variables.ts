import { setOwn, type SyncTask } from '@cluster-apiserver/base';
import { type ObjectType, type Type, types } from '../check/type.ts';
import { compileIn, type Expression } from '../compile.ts';
import type { Environment } from './environment.ts';

export interface VariableDeclaration {
  readonly name: string;
  readonly expression: string;
}

/** The variables of a policy. Each can read the previous ones; other expressions can read all of them. */
export class VariableSet {
  readonly type: ObjectType;
  readonly #expressions: ReadonlyMap<string, Expression>;
  #names: ReadonlySet<string> | undefined;

  constructor(expressions: ReadonlyMap<string, Expression>, fields: Readonly<Record<string, Type>>) {
    this.#expressions = expressions;
    this.type = types.object('kubernetes.variables', fields);
  }

  /** Once all are compiled. */
  get names(): ReadonlySet<string> {
    this.#names ??= new Set(this.#expressions.keys());
    return this.#names;
  }

  expressionOf(name: string): Expression | undefined {
    return this.#expressions.get(name);
  }
}

export interface CompiledVariables {
  readonly variables: VariableSet;
  /** By the index of the variable. */
  readonly faults: ReadonlyMap<number, string>;
}

/**
 * Compiles the variables of a policy in the environment of its other expressions. Of two with one name the later counts.
 * One that does not compile has the type `dyn`, so that its fault is the only one.
 */
export function* compileVariables(
  environment: Environment,
  written: readonly VariableDeclaration[],
): SyncTask<CompiledVariables> {
  const expressions = new Map<string, Expression>();
  const faults = new Map<number, string>();
  // It grows with each variable: a type of its own for each of them would cost as much as all before it.
  const fields: Record<string, Type> = {};
  const variables = new VariableSet(expressions, fields);
  const growing = withVariables(environment, variables);
  for (const [index, { name, expression }] of written.entries()) {
    const compiled = compileIn(growing, expression);
    if ('faults' in compiled) faults.set(index, `compilation failed: ${compiled.faults.join('\n')}`);
    else expressions.set(name, compiled.expression);
    setOwn(fields, name, 'faults' in compiled ? types.dyn : typeOfVariable(compiled.expression.type));
    yield;
  }
  return { variables, faults };
}

export const withVariables = (environment: Environment, { type }: VariableSet): Environment => ({
  ...environment,
  variables: { ...environment.variables, variables: type },
});

const kept: ReadonlySet<Type['kind']> = new Set([
  'bool',
  'bytes',
  'double',
  'duration',
  'int',
  'null',
  'string',
  'timestamp',
  'uint',
]);

/** As in kube-apiserver, types other than simple ones, and lists and maps of these, are dynamic. */
function typeOfVariable(type: Type): Type {
  switch (type.kind) {
    case 'list':
      return types.list(typeOfVariable(type.of));
    case 'map':
      return types.map(typeOfVariable(type.key), typeOfVariable(type.of));
    default:
      return kept.has(type.kind) ? type : types.dyn;
  }
}
