import type { Expression } from '@cluster-apiserver/expressions';
import { compileClaimRule, compileUserRule } from './expression.ts';
import { list, object, string } from '../schema.ts';
import type { ConfigNode } from '../config-node.ts';

/** A condition that the claims of a token must satisfy. */
export type ClaimRule =
  | { readonly by: 'claim'; readonly claim: string; readonly requiredValue: string }
  | ExpressionRule;

export interface ExpressionRule {
  readonly by: 'expression';
  readonly expression: Expression;
  /** Sent to the client if the rule rejects its token. */
  readonly message: string | undefined;
}

const messageSchema = string('Message if the expression is not true.');

export const claimRulesSchema = list(
  'Rules that the claims of a token must satisfy.',
  object('One rule: either `claim` and `requiredValue`, or `expression`.', {
    claim: string('Name of a claim that must be a string.'),
    requiredValue: string('Value that the claim must have.'),
    expression: string('CEL expression over `claims` that must be true.'),
    message: messageSchema,
  }),
);

export const userRulesSchema = list(
  'Rules that the resulting user must satisfy.',
  object(
    'One rule.',
    {
      expression: string('CEL expression over `user` that must be true.'),
      message: messageSchema,
    },
    { required: ['expression'] },
  ),
);

export function readClaimRules(node: ConfigNode<typeof claimRulesSchema>): readonly ClaimRule[] {
  const taken = new Set<string>();
  return node.items().flatMap((item): readonly ClaimRule[] => {
    const fields = item.fields();
    const [claim, value] = [fields.claim.string() ?? '', fields.requiredValue.string() ?? ''];
    const [text, message] = [fields.expression.string() ?? '', fields.message.string() ?? ''];
    if (claim !== '' && text !== '') item.addInvalid(claim, "claim and expression can't both be set");
    if (claim === '' && text === '') item.addRequired('claim or expression is required');
    if (claim !== '' && message !== '') fields.message.addInvalid(message, 'may not be specified when claim is set');
    if (text !== '' && value !== '')
      fields.requiredValue.addInvalid(value, 'may not be specified when expression is set');
    requireUnique(claim === '' ? fields.expression : fields.claim, claim || text, taken);
    if (claim !== '') return [{ by: 'claim', claim, requiredValue: value }];
    return ruleOf(compileClaimRule(fields.expression), message);
  });
}

export function readUserRules(node: ConfigNode<typeof userRulesSchema>): readonly ExpressionRule[] {
  const taken = new Set<string>();
  return node.items().flatMap((item) => {
    const fields = item.fields();
    const text = fields.expression.string() ?? '';
    if (text === '') fields.expression.addRequired();
    requireUnique(fields.expression, text, taken);
    return ruleOf(compileUserRule(fields.expression), fields.message.string() ?? '');
  });
}

const ruleOf = (expression: Expression | undefined, message: string): ExpressionRule[] =>
  expression ? [{ by: 'expression', expression, message: message || undefined }] : [];

function requireUnique(node: ConfigNode, text: string, taken: Set<string>): void {
  if (text !== '' && taken.has(text)) node.addProblem(`Duplicate value: ${JSON.stringify(text)}`);
  taken.add(text);
}
