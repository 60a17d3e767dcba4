import type { Expression } from '@cluster-apiserver/expressions';
import { claimRule, userRule } from './expression.ts';
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

export function readClaimRules(written: Written): readonly ClaimRule[] {
  const taken = new Set<string>();
  return written.items().flatMap((item): readonly ClaimRule[] => {
    const fields = item.fields(['claim', 'requiredValue', 'expression', 'message']);
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

export function readUserRules(written: Written): readonly ExpressionRule[] {
  const taken = new Set<string>();
  return written.items().flatMap((item) => {
    const fields = item.fields(['expression', 'message']);
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
