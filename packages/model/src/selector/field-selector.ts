import { getOwn } from '@cluster-apiserver/base';
import type { ApiVersion } from '../kind/api-version.ts';
import { requireFewCharacters, requireFewTerms, SelectorSyntaxError } from './selector-error.ts';

/** A parsed field selector: every term must hold. */
export interface FieldSelector {
  readonly terms: readonly FieldTerm[];
}

export interface FieldTerm {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** The values that a field selector reads: name, namespace and the selectable fields of the kind. */
export interface Selectable {
  readonly name: string;
  readonly namespace: string;
  readonly fields: Readonly<Record<string, string>> | undefined;
}

/** A test of fields that takes as long as the selector names different ones, however often it repeats them. */
export function fieldMatcher({ terms }: FieldSelector): (object: Selectable) => boolean {
  const rules = new Map<string, FieldRule>();
  for (const { field, equal, value } of terms) {
    let rule = rules.get(field);
    if (!rule) rules.set(field, (rule = { wanted: undefined, denied: new Set() }));
    if (!equal) rule.denied.add(value);
    else if (rule.wanted === undefined || rule.wanted === value) rule.wanted = value;
    else return () => false; // no field has two values
  }
  const all = [...rules];
  return (object) =>
    all.every(([field, { wanted, denied }]) => {
      const value = fieldValue(object, field);
      return (wanted === undefined || wanted === value) && !denied.has(value);
    });
}

interface FieldRule {
  wanted: string | undefined;
  readonly denied: Set<string>;
}

function fieldValue({ name, namespace, fields }: Selectable, field: string): string {
  if (field === 'metadata.name') return name;
  if (field === 'metadata.namespace') return namespace;
  return (fields && getOwn(fields, field)) ?? '';
}

/** Reads a selector such as `metadata.name=a,reason!=Started`. A backslash takes `,`, `=` and itself into a value. */
export function parseFieldSelector(text: string, version: ApiVersion): FieldSelector {
  const terms = parseFieldTerms(text);
  for (const { field } of terms)
    if (!isSelectable(version, field)) throw new SelectorSyntaxError(version.unknownSelectorField(field));
  return { terms: terms.map((term) => ({ ...term, field: getOwn(version.selectable, term.field) ?? term.field })) };
}

/** The terms of a selector, whatever fields they name. */
export function parseFieldTerms(text: string): FieldTerm[] {
  requireFewCharacters('fieldSelector', text);
  const terms = splitTerms(text).filter((term) => term !== '');
  requireFewTerms('fieldSelector', terms.length);
  return terms.map((term) => {
    const match = /^((?:[^\\=!]|\\.)*?)(!=|==|=)(.*)$/s.exec(term);
    if (!match) throw new SelectorSyntaxError(`invalid selector: '${text}'; can't understand '${term}'`);
    const [, field = '', operator = '', value = ''] = match;
    return { field, equal: operator !== '!=', value: unescaped(value) };
  });
}

const isSelectable = ({ namespaced, selectable }: ApiVersion, field: string): boolean =>
  field === 'metadata.name' || (field === 'metadata.namespace' && namespaced) || Object.hasOwn(selectable, field);

function splitTerms(text: string): string[] {
  const terms = [''];
  for (let i = 0; i < text.length; i++) {
    const character = text.charAt(i);
    if (character === ',') terms.push('');
    else terms[terms.length - 1] += character === '\\' ? character + (text[++i] ?? '') : character;
  }
  return terms;
}

function unescaped(value: string): string {
  let out = '';
  for (let i = 0; i < value.length; i++) {
    let character = value.charAt(i);
    if (character === '\\') {
      character = value[++i] ?? '';
      if (!['\\', ',', '='].includes(character))
        throw new SelectorSyntaxError(`invalid field selector: invalid escape sequence: \\${character}`);
    } else if (character === '=')
      throw new SelectorSyntaxError('invalid field selector: unescaped character in value: 61');
    out += character;
  }
  return out;
}
