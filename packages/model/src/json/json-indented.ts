import { closeBrace, closeBracket, colon, comma, endOfToken, openBrace, openBracket } from './json-tokens.ts';

/** So much is given on at a time: little enough for a step, and enough that steps are few. */
const stepCharacters = 4096;

/** Indented JSON: the bytes of `JSON.stringify(value, null, 2)`. No piece ends inside of a token. */
export function* indentedJson(texts: Iterable<string | undefined>): Generator<string | undefined> {
  let depth = 0;
  /** What was opened last has nothing in it so far. */
  let isEmpty = false;
  let out = '';
  for (const text of texts) {
    if (text === undefined) {
      yield;
      continue;
    }
    for (let at = 0; at < text.length; ) {
      const end = endOfToken(text, at);
      const code = text.charCodeAt(at);
      if (code === closeBrace || code === closeBracket) {
        depth--;
        if (!isEmpty) out += lineOf(depth);
        out += text[at];
        isEmpty = false;
      } else if (code === comma) out += `,${lineOf(depth)}`;
      else if (code === colon) out += ': ';
      else if (code > 0x20) {
        if (isEmpty) out += lineOf(depth);
        isEmpty = code === openBrace || code === openBracket;
        if (isEmpty) depth++;
        out += text.slice(at, end);
      }
      at = end;
      if (out.length > stepCharacters) {
        yield out;
        out = '';
      }
    }
  }
  yield out;
}

const lines: string[] = [];
const lineOf = (depth: number): string =>
  lines[depth] ?? (depth < linesMax ? (lines[depth] = buildLineBreak(depth)) : buildLineBreak(depth));
const buildLineBreak = (depth: number): string => `\n${'  '.repeat(depth)}`;
/** Deeper ones are rare. */
const linesMax = 64;
