import type { Expression } from '@cluster-apiserver/expressions';
import { claimRule, userRule } from './expression.ts';
import { list, object, string } from '../schema.ts';
import type { Written } from '../written.ts';

/** What must hold of a token's claims. */
export type ClaimRule =
  | { readonly by: 'claim'; readonly claim: string; readonly requiredValue: string }
  | ExpressionRule;

export interface ExpressionRule {
  readonly by: 'expression';
  readonly expression: Expression;
  /** What whoever is refused is told. */
  readonly message: string | undefined;
}

const message = string('Message if the expression is not true.');

export const claimRulesSchema = list(
  'Rules that the claims of a token must satisfy.',
  object('One rule: either `claim` and `requiredValue`, or `expression`.', {
    claim: string('Name of a claim that must be a string.'),
    requiredValue: string('Value that the claim must have.'),
    expression: string('CEL expression over `claims` that must be true.'),
    message,
  }),
);

export const userRulesSchema = list(
  'Rules that the resulting user must satisfy.',
  object(
    'One rule.',
    {
      expression: string('CEL expression over `user` that must be true.'),
      message,
    },
    { required: ['expression'] },
  ),
);

export function readClaimRules(written: Written<typeof claimRulesSchema>): readonly ClaimRule[] {
  const taken = new Set<string>();
  return written.items().flatMap((item): readonly ClaimRule[] => {
    const fields = item.fields();
    const [claim, value] = [fields.claim.text() ?? '', fields.requiredValue.text() ?? ''];
    const [text, message] = [fields.expression.text() ?? '', fields.message.text() ?? ''];
    if (claim !== '' && text !== '') item.invalid(claim, "claim and expression can't both be set");
    if (claim === '' && text === '') item.required('claim or expression is required');
    if (claim !== '' && message !== '') fields.message.invalid(message, 'may not be specified when claim is set');
    if (text !== '' && value !== '') fields.requiredValue.invalid(value, 'may not be specified when expression is set');
    once(claim === '' ? fields.expression : fields.claim, claim || text, taken);
    if (claim !== '') return [{ by: 'claim', claim, requiredValue: value }];
    return ruleOf(claimRule(fields.expression), message);
  });
}

export function readUserRules(written: Written<typeof userRulesSchema>): readonly ExpressionRule[] {
  const taken = new Set<string>();
  return written.items().flatMap((item) => {
    const fields = item.fields();
    const text = fields.expression.text() ?? '';
    if (text === '') fields.expression.required();
    once(fields.expression, text, taken);
    return ruleOf(userRule(fields.expression), fields.message.text() ?? '');
  });
}

const ruleOf = (expression: Expression | undefined, message: string): ExpressionRule[] =>
  expression ? [{ by: 'expression', expression, message: message || undefined }] : [];

function once(written: Written, text: string, taken: Set<string>): void {
  if (text !== '' && taken.has(text)) written.wrong(`Duplicate value: ${JSON.stringify(text)}`);
  taken.add(text);
}
