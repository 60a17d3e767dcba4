import type { Problems } from '@cluster-apiserver/model';
import type { NameRule } from '@cluster-apiserver/model/validation';

/** Of all values together, decoded; keys do not count. */
export const dataBytesMax = 1024 * 1024;

const keyCharactersMax = 253;

/** A key may be the name of a file in a volume. */
const dataKey: NameRule = (key) => [
  ...(key.length > keyCharactersMax ? [`must be no more than ${keyCharactersMax} characters`] : []),
  ...(/^[-._a-zA-Z0-9]+$/.test(key)
    ? []
    : [
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ]),
  ...(key === '.' || key === '..'
    ? [`must not be '${key}'`]
    : key.startsWith('..')
      ? ["must not start with '..'"]
      : []),
];

export function validateDataKeys(data: object, problems: Problems): void {
  for (const key in data) problems.at({ key }).check(dataKey, key);
}

/** The decoded size of base64 in its canonical form. */
export const decodedBytes = (base64: string): number =>
  (base64.length / 4) * 3 - (base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0);

export const sum = (sizes: Iterable<number>): number => {
  let total = 0;
  for (const size of sizes) total += size;
  return total;
};

const isSealed = 'field is immutable when `immutable` is set';

/** Once it is immutable, an object keeps these fields and stays so. */
export function validateImmutable(
  written: { readonly immutable?: boolean },
  current: { readonly immutable?: boolean } | undefined,
  changed: readonly string[],
  problems: Problems,
): void {
  if (!current?.immutable) return;
  if (!written.immutable) problems.at('immutable').forbidden(isSealed);
  for (const name of changed) problems.at(name).forbidden(isSealed);
}
