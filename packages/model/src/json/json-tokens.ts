/**
 * JSON texts of this server, token by token, so that a long one can be converted without parsing: in small steps, with
 * little memory, and at any depth. The text must be valid JSON.
 */
export const quote = 0x22;
export const comma = 0x2c;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
const backslash = 0x5c;

/** The index after the token that begins here: a string, a number, a literal, or one structural character. */
export function endOfToken(text: string, start: number): number {
  const first = text.charCodeAt(start);
  if (first === quote) return endOfString(text, start);
  if (isStructure(first)) return start + 1;
  let end = start + 1;
  while (end < text.length && !isStructure(text.charCodeAt(end))) end++;
  return end;
}

function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); ; end = text.indexOf('"', end + 1)) {
    if (end < 0) return text.length;
    let escapes = 0;
    while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
    if (escapes % 2 === 0) return end + 1;
  }
}

/** All white space is below, and our texts have none outside of strings but for the newline at their end. */
const isStructure = (code: number): boolean =>
  code === comma ||
  code === colon ||
  code === openBracket ||
  code === closeBracket ||
  code === openBrace ||
  code === closeBrace ||
  code <= 0x20;
