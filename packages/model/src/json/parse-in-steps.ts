import { setOwn, type SyncTask } from '@cluster-apiserver/base';
import { closeBrace, closeBracket, colon, comma, endOfToken, openBrace, openBracket, quote } from './json-tokens.ts';
import { exactNumber } from './raw-number.ts';

/** Tokens per step, which takes some tenths of a millisecond. */
const stepTokens = 4_096;

/**
 * What JSON.parse does, in steps: V8 needs 50 ms for 1.5 MB. Numbers keep their digits, and lone surrogates become U+FFFD.
 * Throws SyntaxError if the text is no JSON.
 */
export function* parseInSteps(text: string): SyncTask<unknown> {
  const parents: Container[] = [];
  let inside: Container | undefined;
  let key = '';
  let result: unknown;
  let expected: Expected = 'value';
  let tokens = 0;
  for (let at = 0; at < text.length; ) {
    if (++tokens % stepTokens === 0) yield;
    const code = text.charCodeAt(at);
    if (isWhiteSpace(code)) {
      at++;
      continue;
    }
    if (!beginnings[expected](code))
      throw new SyntaxError(`Unexpected token ${JSON.stringify(text[at])} at position ${at}`);
    const end = endOfToken(text, at);
    if (code === colon) expected = 'value';
    else if (code === comma) expected = Array.isArray(inside) ? 'value' : 'key';
    else if (code === closeBrace || code === closeBracket) {
      inside = parents.pop();
      expected = nextIn(inside);
    } else if (expected === 'key' || expected === 'keyOrEnd') {
      key = parseString(text.slice(at, end));
      expected = 'colon';
    } else {
      const opened: Container | undefined = code === openBrace ? {} : code === openBracket ? [] : undefined;
      const value = opened ?? parseScalar(text.slice(at, end));
      if (!inside) result = value;
      else if (Array.isArray(inside)) inside.push(value);
      else setOwn(inside, key, value);
      if (opened) {
        if (inside) parents.push(inside);
        inside = opened;
        expected = code === openBrace ? 'keyOrEnd' : 'valueOrEnd';
      } else expected = nextIn(inside);
    }
    at = end;
  }
  if (expected !== 'nothing') throw new SyntaxError('Unexpected end of JSON input');
  return result;
}

/** An object or list whose end has not been read. */
type Container = Record<string, unknown> | unknown[];

/** What may come next, and the characters that it begins with. */
const beginnings = {
  value: (code) => !isPunctuation(code),
  valueOrEnd: (code) => !isPunctuation(code) || code === closeBracket,
  key: (code) => code === quote,
  keyOrEnd: (code) => code === quote || code === closeBrace,
  colon: (code) => code === colon,
  nextEntry: (code) => code === comma || code === closeBracket,
  nextMember: (code) => code === comma || code === closeBrace,
  nothing: () => false,
} satisfies Record<string, (code: number) => boolean>;
type Expected = keyof typeof beginnings;

const isPunctuation = (code: number): boolean =>
  code === comma || code === colon || code === closeBracket || code === closeBrace;

/** What may follow a value. */
function nextIn(inside: Container | undefined): Expected {
  if (!inside) return 'nothing';
  return Array.isArray(inside) ? 'nextEntry' : 'nextMember';
}

const isWhiteSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;

const parseString = (token: string): string => String(JSON.parse(token)).toWellFormed();

/** A double always keeps an integer of fifteen digits. */
const shortInteger = /^-?[0-9]{1,15}$/;

function parseScalar(token: string): unknown {
  if (token.charCodeAt(0) === quote) return parseString(token);
  const value: unknown = JSON.parse(token);
  return typeof value === 'number' && !shortInteger.test(token) ? exactNumber(value, token) : value;
}

/** Finds the text of a member in the text of an object, in steps. Undefined if absent. */
export function* findMemberText(text: string, name: string): SyncTask<string | undefined> {
  let depth = 0;
  let tokens = 0;
  let start: number | undefined;
  const wanted = JSON.stringify(name);
  for (let at = 0; at < text.length; ) {
    if (++tokens % stepTokens === 0) yield;
    const end = endOfToken(text, at);
    const code = text.charCodeAt(at);
    if (start !== undefined && depth === 1 && (code === comma || code === closeBrace)) return text.slice(start, at);
    if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
    else if (code === quote && depth === 1 && start === undefined && text.charCodeAt(end) === colon) {
      if (text.slice(at, end) === wanted) start = end + 1;
    }
    at = end;
  }
  return undefined;
}
