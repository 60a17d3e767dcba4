import type { AccessRequirement, AccessSelector } from '../access.ts';
import { parseFieldTerms } from './field-selector.ts';
import { parseLabelSelector } from './label-selector.ts';
import { SelectorSyntaxError } from './selector-error.ts';

/** A selector in an access review: raw as in a query, or parsed. Never both. */
export interface SelectorAttributes {
  readonly rawSelector?: string | undefined;
  readonly requirements?: readonly Partial<AccessRequirement>[] | undefined;
}

/** A selector for authorizers. All requirements must hold, so a dropped requirement widens it. */
export interface ReadSelector {
  /** Undefined when nothing of it could be read: the question is then about all objects. */
  readonly selector: AccessSelector | undefined;
  /** Whether a part was left out because it could not be read. */
  readonly isPartial: boolean;
}

export const readFieldSelector = (attributes: SelectorAttributes): ReadSelector =>
  read(attributes, fieldRequirements, isFieldRequirement);

export const readLabelSelector = (attributes: SelectorAttributes): ReadSelector =>
  read(attributes, labelRequirements, isLabelRequirement);

function read(
  { rawSelector, requirements = [] }: SelectorAttributes,
  parse: (text: string) => readonly AccessRequirement[],
  isKnown: (requirement: AccessRequirement) => boolean,
): ReadSelector {
  try {
    const all = rawSelector ? parse(rawSelector) : requirements.map(fillDefaults);
    const known = rawSelector ? all : all.filter(isKnown);
    return {
      selector: known.length > 0 ? { requirements: known } : undefined,
      isPartial: known.length < all.length,
    };
  } catch (error) {
    if (error instanceof SelectorSyntaxError) return { selector: undefined, isPartial: true };
    throw error;
  }
}

const fillDefaults = ({ key = '', operator = '', values }: Partial<AccessRequirement>): AccessRequirement => ({
  key,
  operator,
  ...(values && values.length > 0 && { values }),
});

const fieldRequirements = (text: string): AccessRequirement[] =>
  parseFieldTerms(text).map(({ field, equal, value }) => ({
    key: field,
    operator: equal ? 'In' : 'NotIn',
    values: [value],
  }));

/** Fields are compared with one value alone. */
const isFieldRequirement = ({ operator, values }: AccessRequirement): boolean =>
  (operator === 'In' || operator === 'NotIn') && values?.length === 1;

const operators = { in: 'In', notin: 'NotIn', exists: 'Exists', absent: 'DoesNotExist' } as const;

/** Comparisons of numbers have no form in a review, and are left out. */
const labelRequirements = (text: string): AccessRequirement[] =>
  parseLabelSelector(text).requirements.flatMap(({ key, operator, values }) =>
    operator === 'gt' || operator === 'lt'
      ? []
      : [{ key, operator: operators[operator], ...(values.length > 0 && { values }) }],
  );

const labelOperators: ReadonlySet<string> = new Set(Object.values(operators));
const isLabelRequirement = ({ operator }: AccessRequirement): boolean => labelOperators.has(operator);
