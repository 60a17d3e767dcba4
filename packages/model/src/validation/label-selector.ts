import type { Problems } from '../problems.ts';
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

/** A label selector without problems can be evaluated. */
export function validateLabelSelector(
  { matchLabels = {}, matchExpressions = [] }: LabelSelectorField,
  problems: Problems,
): void {
  const labels = problems.at('matchLabels');
  for (const [key, value] of Object.entries(matchLabels)) labels.check(qualifiedName, key).check(labelValueRule, value);
  problems.at('matchExpressions').each(matchExpressions, (requirement, at) => {
    if (!operators.has(requirement.operator))
      at.at('operator').invalid(requirement.operator, 'not a valid selector operator');
    validateLabelRequirement(requirement, at);
  });
}

/** The key and the values of a requirement. Unknown operators have no rules. */
export function validateLabelRequirement(requirement: SelectorRequirementField, problems: Problems): void {
  const { key = '', values = [] } = requirement;
  validateRequirementValues(requirement, problems);
  problems.at('key').check(qualifiedName, key);
  problems.at('values').each(values, (value, at) => at.check(labelValueRule, value));
}

/** A requirement has values exactly if its operator needs them. */
export function validateRequirementValues(
  { operator, values = [] }: SelectorRequirementField,
  problems: Problems,
): void {
  if ((operator === 'In' || operator === 'NotIn') && values.length === 0)
    problems.at('values').required("must be specified when `operator` is 'In' or 'NotIn'");
  if ((operator === 'Exists' || operator === 'DoesNotExist') && values.length > 0)
    problems.at('values').forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
}

const operators: ReadonlySet<string> = new Set(['In', 'NotIn', 'Exists', 'DoesNotExist']);
