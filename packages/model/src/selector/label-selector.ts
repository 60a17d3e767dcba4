import { requireValue } from '@cluster-apiserver/base';
import type { LabelSelectorField } from '../validation/label-selector.ts';
import { labelValueRule, qualifiedName } from '../validation/names.ts';
import { requireFewCharacters, requireFewTerms, SelectorSyntaxError } from './selector-error.ts';

/** A parsed label selector: every requirement must hold. */
export interface LabelSelector {
  readonly requirements: readonly LabelRequirement[];
}

export type LabelRequirement = SetRequirement | BoundRequirement;

interface SetRequirement {
  readonly key: string;
  readonly operator: 'in' | 'notin' | 'exists' | 'absent';
  readonly values: readonly string[];
}

interface BoundRequirement {
  readonly key: string;
  readonly operator: 'gt' | 'lt';
  readonly values: readonly [string];
}

type Labels = Readonly<Record<string, string>>;

/**
 * A test of labels that takes as long as there are keys in the selector or labels on the object, whichever is less,
 * however many requirements a client repeats for one key.
 */
export function labelMatcher({ requirements }: LabelSelector): (labels: Labels) => boolean {
  const rules = new Map<string, KeyRule>();
  for (const requirement of requirements) {
    let rule = rules.get(requirement.key);
    if (!rule) rules.set(requirement.key, (rule = new KeyRule()));
    rule.add(requirement);
  }
  const all = [...rules];
  if (all.length <= lookedUpKeysMax) return (labels) => all.every(([key, rule]) => rule.holds(labelOf(labels, key)));
  const needed = all.filter(([, rule]) => rule.needed).length;
  return (labels) => {
    let met = 0;
    for (const key in labels) {
      const rule = rules.get(key);
      if (!rule) continue;
      if (!rule.holds(labels[key])) return false;
      if (rule.needed) met++;
    }
    return met === needed;
  };
}

/** Up to this many requirements look up their labels; with more, the labels look up their requirements. */
const lookedUpKeysMax = 8;

/** Labels are strings, and inherited properties of objects are not, so `Object.hasOwn` is not needed. */
function labelOf(labels: Labels, key: string): string | undefined {
  const value = labels[key];
  return typeof value === 'string' ? value : undefined;
}

/** All requirements of one key. */
class KeyRule {
  /** Nothing holds without the label. */
  needed = false;
  #forbidden = false;
  #allowed: ReadonlySet<string> | undefined;
  #denied: Set<string> | undefined;
  #above: bigint | undefined;
  #below: bigint | undefined;

  add({ operator, values }: LabelRequirement): void {
    if (operator !== 'notin' && operator !== 'absent') this.needed = true;
    switch (operator) {
      case 'in': {
        const allowed = this.#allowed;
        this.#allowed = new Set(allowed ? values.filter((value) => allowed.has(value)) : values);
        return;
      }
      case 'notin':
        this.#denied ??= new Set();
        for (const value of values) this.#denied.add(value);
        return;
      case 'exists':
        return;
      case 'absent':
        this.#forbidden = true;
        return;
      case 'gt':
        this.#above = maxOf(this.#above, BigInt(values[0]));
        return;
      case 'lt':
        this.#below = minOf(this.#below, BigInt(values[0]));
    }
  }

  holds(value: string | undefined): boolean {
    if (value === undefined) return !this.needed;
    if (this.#forbidden || this.#denied?.has(value)) return false;
    if (this.#allowed && !this.#allowed.has(value)) return false;
    if (this.#above === undefined && this.#below === undefined) return true;
    const number = parseInt64(value);
    if (number === undefined) return false;
    return (this.#above === undefined || number > this.#above) && (this.#below === undefined || number < this.#below);
  }
}

const maxOf = (one: bigint | undefined, other: bigint): bigint => (one !== undefined && one > other ? one : other);
const minOf = (one: bigint | undefined, other: bigint): bigint => (one !== undefined && one < other ? one : other);

const int64Max = 2n ** 63n - 1n;

/** The number that a label value is; no label value begins with a sign. */
function parseInt64(value: string): bigint | undefined {
  if (!/^[0-9]{1,63}$/.test(value)) return undefined;
  const number = BigInt(value);
  return number <= int64Max ? number : undefined;
}

/** Authorization and the list read the selector of a request one after the other, and a long one takes milliseconds. */
let latest: { readonly text: string; readonly selector: LabelSelector } | undefined;

/** Reads a selector such as `app=web,tier!=db,env in (a,b),!old`. */
export function parseLabelSelector(text: string): LabelSelector {
  if (latest?.text !== text) latest = { text, selector: parse(text) };
  return latest.selector;
}

function parse(text: string): LabelSelector {
  requireFewCharacters('labelSelector', text);
  const tokens = new Tokens(text);
  const requirements: LabelRequirement[] = [];
  const first = tokens.peek();
  if (first === undefined) return { requirements };
  if (!beginsTerm(first)) throw unexpectedToken(first, "!, identifier, or 'end of string'");
  let terms = 0;
  for (;;) {
    const requirement = validateRequirement(readRequirement(tokens));
    requirements.push(requirement);
    requireFewTerms('labelSelector', (terms += Math.max(1, requirement.values.length)));
    const next = tokens.take();
    if (next === undefined)
      return {
        requirements: requirements.sort((left, right) => (left.key < right.key ? -1 : left.key > right.key ? 1 : 0)),
      };
    if (next !== ',') throw unexpectedToken(next, "',' or 'end of string'");
    if (!beginsTerm(tokens.peek())) throw unexpectedToken(tokens.peek(), "identifier after ','");
  }
}

const tokenForm = /\s*(?:==|!=|[=!(),<>]|[^\s=!(),<>]+)/y;

class Tokens {
  readonly #text: string;
  #at = 0;
  #next: string | undefined;

  constructor(text: string) {
    this.#text = text;
    this.#next = this.#read();
  }

  peek(): string | undefined {
    return this.#next;
  }

  take(): string | undefined {
    const taken = this.#next;
    this.#next = this.#read();
    return taken;
  }

  #read(): string | undefined {
    tokenForm.lastIndex = this.#at;
    if (!tokenForm.test(this.#text)) return undefined;
    const token = this.#text.slice(this.#at, tokenForm.lastIndex).trimStart();
    this.#at = tokenForm.lastIndex;
    return token;
  }
}

const symbols = new Set(['==', '!=', '=', '!', '(', ')', ',', '<', '>']);

const isWord = (token: string | undefined): token is string => token !== undefined && !symbols.has(token);
const beginsTerm = (token: string | undefined): boolean => token === '!' || isWord(token);

function readRequirement(tokens: Tokens): LabelRequirement {
  const first = tokens.take();
  if (first === '!') return { key: expectWord(tokens.take()), operator: 'absent', values: [] };
  const key = expectWord(first);
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
      throw unreadableRequirement(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

/** The value after an operator; a missing one is empty. */
function readValue(tokens: Tokens): string {
  tokens.take();
  const value = tokens.peek();
  if (value === undefined || value === ',') return '';
  return expectWord(tokens.take());
}

function readValues(tokens: Tokens): string[] {
  const begin = tokens.take();
  if (begin !== '(') throw unreadableRequirement(`found '${begin ?? ''}' expected: '('`);
  const values: string[] = [];
  for (;;) {
    const value = tokens.peek();
    if (value === ',' || value === ')') values.push('');
    else values.push(expectWord(tokens.take(), "',', ')' or identifier"));
    const next = tokens.take();
    if (next === ')') return [...new Set(values)];
    if (next !== ',') throw unreadableRequirement(`found '${next ?? ''}', expected: ',' or ')'`);
  }
}

function expectWord(token: string | undefined, wanted = 'identifier'): string {
  if (!isWord(token)) throw unreadableRequirement(`found '${token ?? ''}', expected: ${wanted}`);
  return token;
}

/** In the words of kube-apiserver. */
const unexpectedToken = (token: string | undefined, wanted: string): SelectorSyntaxError =>
  new SelectorSyntaxError(`found '${token ?? ''}', expected: ${wanted}`);
const unreadableRequirement = (problem: string): SelectorSyntaxError =>
  new SelectorSyntaxError(`unable to parse requirement: ${problem}`);

function validateRequirement(requirement: LabelRequirement): LabelRequirement {
  const { key, operator, values } = requirement;
  const problems = problemsOf('<nil>', key, qualifiedName(key));
  if (operator === 'gt' || operator === 'lt') {
    // Which a label can have, too.
    const isInteger = parseInt64(values[0]) !== undefined;
    if (!isInteger)
      problems.push(...problemsOf('values[0]', values[0], ["for 'Gt', 'Lt' operators, the value must be an integer"]));
  } else
    for (const [index, value] of values.entries())
      problems.push(...problemsOf(`values[${index}][${key}]`, value, labelValueRule(value)));
  if (problems.length > 0)
    throw unreadableRequirement(problems.length === 1 ? problems.join() : `[${problems.join(', ')}]`);
  return requirement;
}

const problemsOf = (place: string, text: string, problems: readonly string[]): string[] =>
  problems.length === 0 ? [] : [`${place}: Invalid value: ${JSON.stringify(text)}: ${problems.join('; ')}`];

const fieldOperators: ReadonlyMap<string, SetRequirement['operator']> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', 'absent'],
]);

/** A test of labels by a selector that is a field of an object. */
export function matcherOfField({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelectorField): (labels: Labels) => boolean {
  const byLabel = Object.entries(matchLabels).map(
    ([key, value]) => ({ key, operator: 'in', values: [value] }) as const,
  );
  const byExpression = matchExpressions.map(({ key, operator, values = [] }) => ({
    key,
    operator: requireValue(fieldOperators.get(operator), 'validation admits no other operator'),
    values,
  }));
  return labelMatcher({ requirements: [...byLabel, ...byExpression] });
}
