import { SyntaxFault, UnreadableToken } from './fault.ts';

/** A text or bytes literal at an offset: `'a'`, `r"a"`, `b'''a'''`. */
export function readText(text: string, start: number): { value: string | Uint8Array; end: number } | UnreadableToken {
  const [opening = '', prefix = '', quote = ''] = /^([rRbB]*)("""|'''|"|')/.exec(text.slice(start, start + 5)) ?? [];
  const raw = /r/i.test(prefix);
  const bytes = /b/i.test(prefix);
  const pieces: (string | number)[] = [];
  let at = start + opening.length;
  for (;;) {
    const found = text.slice(at, at + 1);
    if (found === '' || (quote.length === 1 && /[\r\n]/.test(found)))
      return new UnreadableToken(text, start, at + found.length);
    if (text.startsWith(quote, at)) break;
    if (found !== '\\' || raw) {
      const point = codePointAt(text, at);
      // All line endings become \n, on every platform.
      const lineEnd = point === '\r';
      pieces.push(lineEnd ? '\n' : point);
      at += lineEnd && text[at + 1] === '\n' ? 2 : point.length;
    } else {
      const escaped = readEscape(text, start, at, bytes);
      if (!escaped) return new UnreadableToken(text, start, at + 1 + codePointAt(text, at + 1).length);
      pieces.push(escaped.piece);
      at = escaped.end;
    }
  }
  const end = at + quote.length;
  if (!bytes)
    return {
      value: pieces.map((piece) => (typeof piece === 'number' ? String.fromCodePoint(piece) : piece)).join(''),
      end,
    };
  return {
    value: Buffer.concat(
      pieces.map((piece) => (typeof piece === 'number' ? Uint8Array.of(piece) : Buffer.from(piece))),
    ),
    end,
  };
}

/** The character that starts there, whole even if it takes two units of UTF-16. */
export function codePointAt(text: string, at: number): string {
  const [point = ''] = text.slice(at, at + 2);
  return point;
}

const plainEscapes: ReadonlyMap<string, string> = new Map([
  ['a', '\x07'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['v', '\v'],
  ['\\', '\\'],
  ['?', '?'],
  ['"', '"'],
  ["'", "'"],
  ['`', '`'],
]);
const codeEscape = /\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2}))/y;

/** In bytes, `\x` and octal escapes are single bytes and code points cannot be named. Undefined for what is no escape. */
function readEscape(
  text: string,
  start: number,
  at: number,
  bytes: boolean,
): { piece: string | number; end: number } | undefined {
  const plain = plainEscapes.get(text.slice(at + 1, at + 2));
  if (plain !== undefined) return { piece: plain, end: at + 2 };
  codeEscape.lastIndex = at;
  const [whole, x, short, long, octal] = codeEscape.exec(text) ?? [];
  const named = short ?? long;
  if (whole === undefined) return undefined;
  if (bytes && named !== undefined) throw new SyntaxFault(start, 'unable to unescape string');
  const code = Number.parseInt(octal ?? x ?? named ?? '', octal === undefined ? 16 : 8);
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) throw new SyntaxFault(start, 'invalid unicode code point');
  return { piece: code, end: at + whole.length };
}
