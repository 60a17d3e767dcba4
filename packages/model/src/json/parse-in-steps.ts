import { setOwn, type SyncTask } from '@cluster-apiserver/base';
import { parseJson } from './json.ts';
import { closeBrace, closeBracket, colon, comma, endOfToken, openBrace, openBracket, quote } from './json-tokens.ts';

/** Tokens per step. */
const stepTokens = 512;

/** Parses stored JSON in steps: V8 needs 50 ms for 1.5 MB. */
export function* parseInSteps(text: string): SyncTask<unknown> {
  const parents: Container[] = [];
  let inside: Container | undefined;
  let key: string | undefined;
  let tokens = 0;
  for (let at = 0; at < text.length; ) {
    if (++tokens % stepTokens === 0) yield;
    const end = endOfToken(text, at);
    const code = text.charCodeAt(at);
    const token = text.slice(at, end);
    at = end;
    if (code === colon || code <= 0x20) continue;
    if (code === comma) {
      key = undefined;
      continue;
    }
    if (code === closeBrace || code === closeBracket) {
      const closed = inside;
      inside = parents.pop();
      key = undefined;
      if (!inside) return closed;
      continue;
    }
    if (code === quote && inside && !Array.isArray(inside) && key === undefined) {
      key = String(JSON.parse(token));
      continue;
    }
    const opened: Container | undefined = code === openBrace ? {} : code === openBracket ? [] : undefined;
    const value = opened ?? scalar(token);
    if (Array.isArray(inside)) inside.push(value);
    else if (inside && key !== undefined) setOwn(inside, key, value);
    else if (!opened) return value;
    if (!opened) continue;
    if (inside) parents.push(inside);
    inside = opened;
    key = undefined;
  }
  return undefined;
}

/** An object or list whose end has not been read. */
type Container = Record<string, unknown> | unknown[];

/** Integers that exceed a double keep their digits. */
const longInteger = /^-?[0-9]{16,}$/;
const scalar = (token: string): unknown => (longInteger.test(token) ? parseJson(token).value : JSON.parse(token));

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
