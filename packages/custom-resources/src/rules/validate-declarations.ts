import type { Problems } from '@cluster-apiserver/model';
import { findField } from '../definition/field-path.ts';
import type { JsonSchema, ValidationRule } from '../schema/json-schema.ts';

/** Validates the rules of a schema, apart from their expressions, and not those of schemas in it. */
export function validateRuleDeclarations(schema: JsonSchema, problems: Problems): void {
  for (const [index, rule] of (schema['x-kubernetes-validations'] ?? []).entries())
    validateRule(schema, rule, problems.at('x-kubernetes-validations', index));
}

const reasons = ['FieldValueDuplicate', 'FieldValueForbidden', 'FieldValueInvalid', 'FieldValueRequired'];

function validateRule(schema: JsonSchema, declared: ValidationRule, at: Problems): void {
  const { rule, message = '', messageExpression = '', reason, fieldPath = '' } = declared;
  if (rule.trim() === '') at.at('rule').required('rule is not specified');
  else validateMessage(rule, message, at.at('message'));
  if (messageExpression !== '' && messageExpression.trim() === '')
    at.at('messageExpression').required('messageExpression must be non-empty if specified');
  at.at('reason').oneOf(reason, reasons);
  if (fieldPath === '') return;
  const path = at.at('fieldPath');
  if (fieldPath.trim() === '') path.invalid(fieldPath, 'must be non-empty if specified');
  if (lineBreak.test(fieldPath)) path.invalid(fieldPath, 'must not contain line breaks');
  if (typeof findField(fieldPath, schema, { allowsBrackets: true }) === 'string')
    path.invalid(fieldPath, 'must be a valid path');
}

function validateMessage(rule: string, message: string, at: Problems): void {
  const trimmed = message.trim();
  if (message !== '' && trimmed === '') at.invalid(message, 'must be non-empty if specified');
  else if (lineBreak.test(trimmed)) at.invalid(message, 'must not contain line breaks');
  else if (lineBreak.test(rule.trim()) && trimmed === '')
    at.required('message must be specified if rule contains line breaks');
}

const lineBreak = /[\n\r]/;
