import type { Kind } from '../kind.ts';
import type { KubeObject } from '../object.ts';
import { SelectorSyntaxError } from './label-selector.ts';

/** A parsed field selector: every term must hold. */
export interface FieldSelector {
  readonly terms: readonly FieldTerm[];
}

export interface FieldTerm {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

export function matchesFields({ terms }: FieldSelector, kind: Kind, object: KubeObject): boolean {
  return terms.every(({ field, equal, value }) => (fieldValue(kind, object, field) === value) === equal);
}

function fieldValue(kind: Kind, object: KubeObject, field: string): string {
  if (field === 'metadata.name') return object.metadata.name ?? '';
  if (field === 'metadata.namespace') return object.metadata.namespace ?? '';
  return kind.selectableFields[field]?.(object) ?? '';
}

/** Reads a selector such as `metadata.name=a,reason!=Started`. A backslash takes `,`, `=` and itself into a value. */
export function parseFieldSelector(text: string, kind: Kind): FieldSelector {
  const terms = splitTerms(text)
    .filter((term) => term !== '')
    .map((term) => {
      const match = /^((?:[^\\=!]|\\.)*?)(!=|==|=)(.*)$/s.exec(term);
      if (!match) throw new SelectorSyntaxError(`invalid selector: '${text}'; can't understand '${term}'`);
      const [, field, operator, value] = match as unknown as [string, string, string, string];
      return { field, equal: operator !== '!=', value: unescaped(value) };
    });
  for (const { field } of terms)
    if (!isSelectable(kind, field)) throw new SelectorSyntaxError(kind.unknownSelectorField(field));
  return { terms };
}

const isSelectable = (kind: Kind, field: string): boolean =>
  field === 'metadata.name' || field === 'metadata.namespace' || Object.hasOwn(kind.selectableFields, field);

function splitTerms(text: string): string[] {
  const terms = [''];
  for (let i = 0; i < text.length; i++) {
    const character = text[i] as string;
    if (character === ',') terms.push('');
    else terms[terms.length - 1] += character === '\\' ? character + (text[++i] ?? '') : character;
  }
  return terms;
}

function unescaped(value: string): string {
  let out = '';
  for (let i = 0; i < value.length; i++) {
    let character = value[i] as string;
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
