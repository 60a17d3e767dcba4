import { isRawNumber } from './raw-number.ts';

/** JSON.stringify in pieces; values below so many levels are one piece each. */
export function* jsonTexts(value: unknown, levels = Number.POSITIVE_INFINITY): Generator<string> {
  if (typeof value !== 'object' || value === null || isRawNumber(value) || levels === 0) {
    yield JSON.stringify(value) ?? 'null';
    return;
  }
  const isList = Array.isArray(value);
  let separator = '';
  yield isList ? '[' : '{';
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined && !isList) continue;
    yield isList ? separator : `${separator}${JSON.stringify(key)}:`;
    yield* jsonTexts(member, levels - 1);
    separator = ',';
  }
  yield isList ? ']' : '}';
}
