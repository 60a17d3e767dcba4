import { Uint, type Value } from '../values/value.ts';
import { faultsMax, SyntaxFault, UnreadableToken } from './fault.ts';
import { codePointAt, readText } from './text-literal.ts';

export interface Token {
  readonly at: number;
  readonly kind: 'name' | 'quoted name' | 'literal' | 'sign' | 'end';
  /** The source text; a quoted name without its quotes. */
  readonly text: string;
  readonly value?: Value;
}

const blank = /(?:\s|\/\/[^\n]*)*/y;
const name = /[A-Za-z_][A-Za-z0-9_]*/y;
const quotedName = /`([A-Za-z0-9_.\-/ ]+)`/y;
const double = /(?:\d+\.\d+|\.\d+|\d+(?=[eE]))(?:[eE][+-]?\d+)?/y;
const whole = /(0x[0-9a-fA-F]+|\d+)([uU]?)/y;
const sign = /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/y;
const textStart = /(?:[rR][bB]?|[bB][rR]?)?(?:"|')/y;

export const intMax = 2n ** 63n - 1n;
const uintMax = 2n ** 64n - 1n;

/** What is no token is left out, and its fault added to the earlier ones. */
export function* tokenize(text: string, earlier: SyntaxFault[]): Generator<Token, Token> {
  let at = 0;
  const take = (pattern: RegExp): RegExpExecArray | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text) ?? undefined;
  };
  for (;;) {
    at += take(blank)?.[0].length ?? 0;
    if (at >= text.length) return { at, kind: 'end', text: '<EOF>' };
    const found = next();
    if (!(found instanceof UnreadableToken)) yield found.token;
    else if (earlier.length < faultsMax) earlier.push(found);
    else throw found;
    at = found.end;
  }

  function next(): { readonly token: Token; readonly end: number } | UnreadableToken {
    const start = take(textStart);
    if (start) {
      const read = readText(text, at);
      if (!(read instanceof UnreadableToken)) {
        const { value, end } = read;
        return { token: { at, kind: 'literal', text: text.slice(at, end), value }, end };
      }
      // Its prefix is a name then.
      if (start[0].length === 1) return read;
    }
    const number = take(double) ?? take(whole);
    if (number) {
      const end = at + number[0].length;
      return { token: { at, kind: 'literal', text: number[0], value: numberIn(number, at) }, end };
    }
    for (const [kind, pattern] of [
      ['name', name],
      ['quoted name', quotedName],
      ['sign', sign],
    ] as const) {
      const found = take(pattern);
      if (found) return { token: { at, kind, text: found[1] ?? found[0] }, end: at + found[0].length };
    }
    return new UnreadableToken(text, at, at + codePointAt(text, at).length);
  }
}

/** Bounds of ints are checked where their sign is known. */
function numberIn([written, digits, unsigned]: RegExpExecArray, at: number): Value {
  if (digits === undefined) {
    if (!Number.isFinite(Number(written))) throw new SyntaxFault(at, 'invalid double literal');
    return Number(written);
  }
  const value = BigInt(digits);
  if (unsigned === '') return value;
  if (value > uintMax) throw new SyntaxFault(at, 'invalid uint literal');
  return new Uint(value);
}
