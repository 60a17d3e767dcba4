import { type FieldError, FieldErrors, forbidden, invalidValue, required } from '../field-error.ts';
import { labelValueRule, qualifiedName } from './names.ts';

/** A label selector that is a field of an object, unlike one in a query (see selector/label-selector.ts). */
export interface LabelSelectorField {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** What is wrong with a label selector; nothing means that it can be evaluated. */
export function labelSelectorErrors(
  field: string,
  { matchLabels = {}, matchExpressions = [] }: LabelSelectorField,
): FieldError[] {
  const errors = new FieldErrors();
  for (const [key, value] of Object.entries(matchLabels)) {
    errors.addAll(qualifiedName(key), (problem) => invalidValue(`${field}.matchLabels`, key, problem));
    errors.addAll(labelValueRule(value), (problem) => invalidValue(`${field}.matchLabels`, value, problem));
  }
  for (const [index, { key, operator, values = [] }] of matchExpressions.entries()) {
    const at = `${field}.matchExpressions[${index}]`;
    if (operator === 'In' || operator === 'NotIn') {
      if (values.length === 0)
        errors.add(() => required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
    } else if (operator === 'Exists' || operator === 'DoesNotExist') {
      if (values.length > 0)
        errors.add(() =>
          forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
        );
    } else errors.add(() => invalidValue(`${at}.operator`, operator, 'not a valid selector operator'));
    errors.addAll(qualifiedName(key), (problem) => invalidValue(`${at}.key`, key, problem));
    for (const [position, value] of values.entries())
      errors.addAll(labelValueRule(value), (problem) => invalidValue(`${at}.values[${position}]`, value, problem));
  }
  return errors.all;
}
