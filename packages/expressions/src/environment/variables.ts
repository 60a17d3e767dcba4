import { setOwn } from '@cluster-apiserver/base';
import { type ObjectType, type Type, types } from '../check/type.ts';
import { compileIn, type Expression } from '../compile.ts';
import type { Environment } from './environment.ts';

const typeName = 'kubernetes.variables';

export interface WrittenVariable {
  readonly name: string;
  readonly expression: string;
}

/** The variables of a policy: each may read those before it, and what follows them may read all of them. */
export class VariableSet {
  readonly type: ObjectType;
  readonly names: ReadonlySet<string>;
  readonly #expressions: ReadonlyMap<string, Expression>;

  constructor(expressions: ReadonlyMap<string, Expression>, fields: Readonly<Record<string, Type>>) {
    this.#expressions = expressions;
    this.names = new Set(expressions.keys());
    this.type = types.object(typeName, fields);
  }

  expressionOf(name: string): Expression | undefined {
    return this.#expressions.get(name);
  }
}

/**
 * Compiles the variables of a policy in the environment of its other expressions. Of two with one name the later counts.
 * One that does not compile has the type `dyn`, so that its fault is the only one.
 */
export function compileVariables(
  environment: Environment,
  written: readonly WrittenVariable[],
): {
  readonly variables: VariableSet;
  /** By the index of the variable. */
  readonly faults: ReadonlyMap<number, string>;
} {
  const expressions = new Map<string, Expression>();
  const faults = new Map<number, string>();
  // It grows by one field with each variable: copies would make many variables slow.
  const fields: Record<string, Type> = {};
  const within = withType(environment, types.object(typeName, fields));
  for (const [index, { name, expression }] of written.entries()) {
    const compiled = compileIn(within, expression);
    if ('faults' in compiled) faults.set(index, `compilation failed: ${compiled.faults.join('\n')}`);
    else expressions.set(name, compiled.expression);
    setOwn(fields, name, 'faults' in compiled ? types.dyn : typeOfVariable(compiled.expression.type));
  }
  return { variables: new VariableSet(expressions, fields), faults };
}

export const withVariables = (environment: Environment, { type }: VariableSet): Environment =>
  withType(environment, type);

const withType = (environment: Environment, type: ObjectType): Environment => ({
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

/** As in kube-apiserver, what is neither simple nor a list or map of it is known only when it is there. */
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
