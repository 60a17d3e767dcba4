/** One thing wrong with one field. Validation gathers all of them; `invalid` in status.ts makes an answer. */
export interface FieldError {
  readonly field: string;
  readonly reason:
    | 'FieldValueRequired'
    | 'FieldValueInvalid'
    | 'FieldValueNotSupported'
    | 'FieldValueForbidden'
    | 'FieldValueTooLong'
    | 'FieldValueDuplicate';
  readonly message: string;
}

/** A value in a message is cut here: it is for people, and the client has the whole. */
const shownCharactersMax = 256;

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? 'null';
  return text.length <= shownCharactersMax ? text : `${text.slice(0, shownCharactersMax)}…`;
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
  message: withDetail(`Invalid value: ${shown(value)}`, detail),
});

export const notSupported = (field: string, value: unknown, supported: readonly string[]): FieldError => ({
  field,
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${shown(value)}: supported values: ${supported.map((entry) => JSON.stringify(entry)).join(', ')}`,
});

export const forbidden = (field: string, detail: string): FieldError => ({
  field,
  reason: 'FieldValueForbidden',
  message: withDetail('Forbidden', detail),
});

export const tooLong = (field: string, bytesMax: number): FieldError => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${bytesMax} bytes`,
});
