import { authorizationVariables, compile, type Expression, formatType } from '@cluster-apiserver/expressions';
import { list, object, string } from '../schema.ts';
import type { ConfigNode } from '../config-node.ts';

const matchConditionsMax = 64;

/** Bare variables as in the documentation of this server, and below `request` as in kube-apiserver's. */
const variables = { ...authorizationVariables.request.fields, ...authorizationVariables };

export const matchConditionsSchema = list(
  'The webhook is called only if all of them are true.',
  object(
    'One condition.',
    {
      expression: string(
        'CEL expression over the spec of the SubjectAccessReview (`user`, `groups`, `resourceAttributes`, …; also below `request`).',
      ),
    },
    { required: ['expression'] },
  ),
  { maxItems: matchConditionsMax },
);

/** An empty list matches every request. */
export function readMatchConditions(node: ConfigNode<typeof matchConditionsSchema>): readonly Expression[] {
  const items = node.items();
  if (items.length > matchConditionsMax)
    node.addProblem(`Too many: ${items.length}: must have at most ${matchConditionsMax} items`);
  const taken = new Set<string>();
  return items.flatMap((item) => {
    const { expression } = item.fields();
    const text = expression.string() ?? '';
    if (text === '') {
      expression.addRequired();
      return [];
    }
    if (taken.has(text)) {
      expression.addProblem(`Duplicate value: ${JSON.stringify(text)}`);
      return [];
    }
    taken.add(text);
    return compileCondition(expression, text);
  });
}

function compileCondition(node: ConfigNode, text: string): readonly Expression[] {
  const result = compile(text, variables);
  if ('faults' in result) {
    for (const fault of result.faults) node.addInvalid(text, `compilation failed: ${fault}`);
    return [];
  }
  const { expression } = result;
  if (expression.type.kind === 'bool') return [expression];
  node.addInvalid(text, `must evaluate to bool, and this is of type ${formatType(expression.type)}`);
  return [];
}
