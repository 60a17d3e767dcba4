import type { SyncTask } from '@cluster-apiserver/base';
import { countValues } from '../validation/values.ts';
import { isRawNumber } from './raw-number.ts';

/** V8 writes a piece of so many values in a fraction of a millisecond. */
const pieceValues = 500;

/** Whether JSON.stringify writes the value in less than a millisecond. */
export const isOnePiece = (value: unknown): boolean => countValues(value, pieceValues) <= pieceValues;

/** JSON.stringify in pieces; values below so many levels are one piece each. */
export function* jsonTexts(value: unknown, levels = Number.POSITIVE_INFINITY): Generator<string> {
  if (typeof value !== 'object' || value === null || isRawNumber(value) || levels === 0 || isOnePiece(value)) {
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

/** Pieces that are joined in one step, and their characters. */
const stepPieces = 512;
const stepCharacters = 64 * 1024;

/** Joins the pieces of a JSON text in steps, without trailing white space. An undefined piece ends a step. */
export function* joinTexts(texts: Iterable<string | undefined>): SyncTask<string> {
  const pieces: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (text === undefined) {
      yield;
      continue;
    }
    pieces.push(text);
    characters += text.length;
    if (characters > stepCharacters || pieces.length % stepPieces === 0) {
      characters = 0;
      yield;
    }
  }
  return pieces.join('').trimEnd();
}
