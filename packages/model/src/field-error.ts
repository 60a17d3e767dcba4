import { setOwn } from '@cluster-apiserver/base';
import { isJsonObject } from './json/json-object.ts';

/** One thing wrong with one field. Validation gathers all of them; `invalid` in status.ts makes an answer. */
export interface FieldError {
  readonly field: string;
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueTooLong'
    | 'FieldValueTooMany'
    | 'FieldValueDuplicate';
  readonly message: string;
  /** How many more errors were found and are not listed. */
  readonly omitted?: number;
}

/** The maximum number of errors in a response. More are usually the same mistake in many entries. */
export const fieldErrorsMax = 100;

/** Errors as a validator finds them: those beyond the bound are counted and never made. */
export class FieldErrors {
  readonly #errors: FieldError[] = [];
  #omitted = 0;

  add(make: () => FieldError): void {
    if (this.#errors.length < fieldErrorsMax) this.#errors.push(make());
    else this.#omitted++;
  }

  addAll(problems: readonly string[], make: (problem: string) => FieldError): void {
    for (const problem of problems) this.add(() => make(problem));
  }

  /** How many errors were found, listed or not. */
  get count(): number {
    return this.#errors.length + this.#omitted;
  }

  get all(): FieldError[] {
    const last = this.#errors.at(-1);
    return last && this.#omitted > 0
      ? [...this.#errors.slice(0, -1), { ...last, omitted: this.#omitted }]
      : this.#errors;
  }
}

/** A value in a message is cut here: it is for people, and the client has the whole. */
const shownCharactersMax = 256;

/** A value in a message, as JSON. */
export function formatValue(value: unknown): string {
  const text = JSON.stringify(truncateValue(value, { nodes: shownCharactersMax })) ?? 'null';
  return text.length <= shownCharactersMax ? text : `${text.slice(0, shownCharactersMax)}…`;
}

/** As much of a value as can show: each node and each character of a text takes at least one character. */
function truncateValue(value: unknown, budget: { nodes: number }): unknown {
  budget.nodes--;
  if (typeof value === 'string') return value.slice(0, shownCharactersMax);
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) {
      if (budget.nodes < 0) break;
      items.push(truncateValue(item, budget));
    }
    return items;
  }
  if (!isJsonObject(value)) return value;
  const out: Record<string, unknown> = {};
  for (const key in value) {
    if (budget.nodes < 0) break;
    setOwn(out, key.slice(0, shownCharactersMax), truncateValue(value[key], budget));
  }
  return out;
}

const withDetail = (problem: string, detail: string): string => (detail ? `${problem}: ${detail}` : problem);

export const required = (field: string, detail = ''): FieldError => ({
  field,
  reason: 'FieldValueRequired',
  message: withDetail('Required value', detail),
});

export const invalidValue = (field: string, value: unknown, detail: string): FieldError => ({
  field,
  reason: 'FieldValueInvalid',
  message: withDetail(`Invalid value: ${formatValue(value)}`, detail),
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  field,
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${formatValue(value)}: supported values: ${supported.map((entry) => JSON.stringify(entry)).join(', ')}`,
});

export const duplicate = (field: string, value: unknown): FieldError => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${formatValue(value)}`,
});

export const forbidden = (field: string, detail: string): FieldError => ({
  field,
  reason: 'FieldValueForbidden',
  message: withDetail('Forbidden', detail),
});

/** For a text of more bytes in UTF-8: upstream's validation measures with Go's `len`, which counts bytes. */
export const tooLong = (field: string, bytesMax: number): FieldError => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${bytesMax} bytes`,
});

export const tooManyCharacters = (field: string, charactersMax: number): FieldError => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${charactersMax} characters`,
});

export const tooMany = (field: string, count: number, countMax: number): FieldError => ({
  field,
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${countMax} items`,
});
