import { type FieldError, FieldErrors, forbidden, invalidValue, required } from '../field-error.ts';
import { labelValueRule, qualifiedName } from './names.ts';

/** A label selector that is a field of an object, unlike one in a query (see selector/label-selector.ts). */
export interface LabelSelectorField {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: string; values?: string[] }[];
}

/** A requirement as it is written into a field, with whatever is missing. */
export interface SelectorRequirementField {
  readonly key?: string | undefined;
  readonly operator?: string | undefined;
  readonly values?: readonly string[] | undefined;
}

/** Errors about a label selector; without any it can be evaluated. */
export function labelSelectorErrors(field: string, selector: LabelSelectorField): FieldError[] {
  const errors = new FieldErrors();
  addLabelSelectorErrors(errors, field, selector);
  return errors.all;
}

export function addLabelSelectorErrors(
  errors: FieldErrors,
  field: string,
  { matchLabels = {}, matchExpressions = [] }: LabelSelectorField,
): void {
  for (const [key, value] of Object.entries(matchLabels)) {
    errors.addAll(qualifiedName(key), (problem) => invalidValue(`${field}.matchLabels`, key, problem));
    errors.addAll(labelValueRule(value), (problem) => invalidValue(`${field}.matchLabels`, value, problem));
  }
  for (const [index, requirement] of matchExpressions.entries()) {
    const at = `${field}.matchExpressions[${index}]`;
    if (!operators.has(requirement.operator))
      errors.add(() => invalidValue(`${at}.operator`, requirement.operator, 'not a valid selector operator'));
    addLabelRequirementErrors(errors, at, requirement);
  }
}

/** Errors about the key and the values of a requirement. Unknown operators have no rules. */
export function addLabelRequirementErrors(
  errors: FieldErrors,
  at: string,
  { key = '', operator, values = [] }: SelectorRequirementField,
): void {
  addRequirementValuesErrors(errors, at, { operator, values });
  errors.addAll(qualifiedName(key), (problem) => invalidValue(`${at}.key`, key, problem));
  for (const [position, value] of values.entries())
    errors.addAll(labelValueRule(value), (problem) => invalidValue(`${at}.values[${position}]`, value, problem));
}

/** Errors unless the requirement has values exactly if its operator needs them. */
export function addRequirementValuesErrors(
  errors: FieldErrors,
  at: string,
  { operator, values = [] }: Pick<SelectorRequirementField, 'operator' | 'values'>,
): void {
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
    errors.add(() => required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'"));
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
    errors.add(() => forbidden(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
}

const operators: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);
