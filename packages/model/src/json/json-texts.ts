import type { SyncTask } from '@cluster-apiserver/base';
import { countValues } from '../validation/values.ts';

/** V8 writes a piece of so many values in a fraction of a millisecond. */
const pieceValues = 2_000;

/** What is nested deeper is one piece: each level is a generator of its own, through which every piece passes. */
const levelsMax = 100;

/** JSON.stringify in pieces. */
export function* jsonTexts(value: unknown): Generator<string> {
  if (isContainer(value) && countValues(value, pieceValues) > pieceValues) yield* largeTexts(value, levelsMax);
  else yield JSON.stringify(value) ?? 'null';
}

const isContainer = (value: unknown): value is object => typeof value === 'object' && value !== null;

function* largeTexts(value: object, levels: number): Generator<string> {
  if (levels === 0) {
    yield JSON.stringify(value);
    return;
  }
  const isList = Array.isArray(value);
  let text = isList ? '[' : '{';
  let separator = '';
  let values = 0;
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined && !isList) continue;
    text += isList ? separator : `${separator}${JSON.stringify(key)}:`;
    separator = ',';
    const more = countValues(member, pieceValues);
    if (isContainer(member) && more > pieceValues) {
      yield text;
      text = '';
      yield* largeTexts(member, levels - 1);
    } else text += JSON.stringify(member) ?? 'null';
    values += 1 + more;
    if (values <= pieceValues) continue;
    yield text;
    text = '';
    values = 0;
  }
  yield isList ? `${text}]` : `${text}}`;
}

/** Pieces that are joined in one step, and their characters. */
const stepPieces = 512;
const stepCharacters = 16 * 1024;

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
