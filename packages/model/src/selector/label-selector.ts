import { labelValueRule, qualifiedName } from '../validation/names.ts';

/** A parsed label selector: every requirement must hold. */
export interface LabelSelector {
  readonly requirements: readonly LabelRequirement[];
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent' | 'gt' | 'lt';
  readonly values: readonly string[];
}

export class SelectorSyntaxError extends Error {
  override readonly name = 'SelectorSyntaxError';
}

export function matchesLabels({ requirements }: LabelSelector, labels: Readonly<Record<string, string>>): boolean {
  return requirements.every((requirement) => holds(requirement, labelOf(labels, requirement.key)));
}

/** Labels are texts, and nothing that an object inherits is one: so there is no need to ask whose it is. */
function labelOf(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  const value = labels[key];
  return typeof value === 'string' ? value : undefined;
}

function holds({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'absent':
      return value === undefined;
    case 'gt':
      return value !== undefined && wholeNumber.test(value) && BigInt(value) > BigInt(values[0] as string);
    case 'lt':
      return value !== undefined && wholeNumber.test(value) && BigInt(value) < BigInt(values[0] as string);
  }
}

const wholeNumber = /^-?[0-9]{1,19}$/;

/** Reads a selector such as `app=web,tier!=db,env in (a,b),!old`. */
export function parseLabelSelector(text: string): LabelSelector {
  const tokens = tokenize(text);
  const requirements: LabelRequirement[] = [];
  if (tokens.peek() === undefined) return { requirements };
  for (;;) {
    requirements.push(checked(readRequirement(tokens)));
    const next = tokens.take();
    if (next === undefined)
      return {
        requirements: requirements.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0)),
      };
    if (next !== ',') throw unexpected(next, "',' or the end");
    if (tokens.peek() === undefined) throw unexpected(undefined, 'a key');
  }
}

interface Tokens {
  peek(): string | undefined;
  take(): string | undefined;
}

const tokenForm = /\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)/y;

function tokenize(text: string): Tokens {
  const tokens: string[] = [];
  tokenForm.lastIndex = 0;
  for (let match = tokenForm.exec(text); match; match = tokenForm.exec(text)) tokens.push(match[1] as string);
  let at = 0;
  return { peek: () => tokens[at], take: () => tokens[at++] };
}

const symbols = new Set(['==', '!=', '=', '!', '(', ')', ',', '<', '>']);

function readRequirement(tokens: Tokens): LabelRequirement {
  const first = tokens.take();
  if (first === '!') return { key: word(tokens.take(), 'a key'), operator: 'absent', values: [] };
  const key = word(first, 'a key');
  const operator = tokens.peek();
  switch (operator) {
    case undefined:
    case ',':
      return { key, operator: 'exists', values: [] };
    case '=':
    case '==':
      return { key, operator: 'in', values: [readValue(tokens)] };
    case '!=':
      return { key, operator: 'notin', values: [readValue(tokens)] };
    case '>':
      return { key, operator: 'gt', values: [readValue(tokens)] };
    case '<':
      return { key, operator: 'lt', values: [readValue(tokens)] };
    case 'in':
    case 'notin':
      tokens.take();
      return { key, operator, values: readValues(tokens) };
    default:
      throw unexpected(operator, "'in', 'notin', '=', '==', '!=', '>' or '<'");
  }
}

/** The value behind an operator; none is the empty one. */
function readValue(tokens: Tokens): string {
  tokens.take();
  const value = tokens.peek();
  if (value === undefined || value === ',') return '';
  if (symbols.has(value)) throw unexpected(value, 'a value');
  return tokens.take() as string;
}

function readValues(tokens: Tokens): string[] {
  if (tokens.take() !== '(') throw unexpected(tokens.peek(), "'('");
  const values: string[] = [];
  for (;;) {
    const value = tokens.peek();
    if (value === ',' || value === ')') values.push('');
    else values.push(word(tokens.take(), 'a value'));
    const next = tokens.take();
    if (next === ')') return [...new Set(values)];
    if (next !== ',') throw unexpected(next, "',' or ')'");
  }
}

function word(token: string | undefined, wanted: string): string {
  if (token === undefined || symbols.has(token)) throw unexpected(token, wanted);
  return token;
}

const unexpected = (token: string | undefined, wanted: string): SelectorSyntaxError =>
  new SelectorSyntaxError(`unable to parse requirement: found '${token ?? ''}', expected: ${wanted}`);

function checked(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  const [badKey] = qualifiedName(key);
  if (badKey) throw new SelectorSyntaxError(`key: Invalid value: ${JSON.stringify(key)}: ${badKey}`);
  if (operator === 'gt' || operator === 'lt') {
    if (!wholeNumber.test(values[0] as string))
      throw new SelectorSyntaxError(
        `values[0]: Invalid value: ${JSON.stringify(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer`,
      );
    return requirement;
  }
  for (const [index, value] of values.entries()) {
    const [bad] = labelValueRule(value);
    if (bad) throw new SelectorSyntaxError(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${bad}`);
  }
  return requirement;
}
