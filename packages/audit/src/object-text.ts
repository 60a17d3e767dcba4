import type { Steps } from '@cluster-apiserver/base';
import { isRawNumber, jsonTokens } from '@cluster-apiserver/model';

/**
 * The objects of an event as JSON on one line, in steps of about a millisecond: an object may have megabytes, and its
 * request is not the only one.
 */

const { closeBrace, closeBracket, colon, comma, endOfToken, openBrace, openBracket, quote } = jsonTokens;

/** Tokens or values of one step. */
const stepTokens = 512;
/** Characters of texts that are joined in one step. */
const stepCharacters = 256 * 1024;

/** A value as JSON. */
export function* serialize(value: unknown): Steps<string> {
  const counter = { values: 0 };
  return yield* serializeValue(value, counter);
}

function* serializeValue(value: unknown, counter: { values: number }): Steps<string> {
  if (++counter.values % stepTokens === 0) yield;
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return JSON.stringify(value ?? null);
  let text = '';
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === '' ? '' : ','}${yield* serializeValue(item, counter)}`;
    return `[${text}]`;
  }
  for (const [key, member] of Object.entries(value)) {
    if (member === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${yield* serializeValue(member, counter)}`;
  }
  return `{${text}}`;
}

/** JSON texts as one, without white space at its end. */
export function* joinTexts(texts: Iterable<string | undefined>): Steps<string> {
  const parts: string[] = [];
  let characters = 0;
  for (const text of texts) {
    if (text === undefined) {
      yield;
      continue;
    }
    parts.push(text);
    characters += text.length;
    if (characters > stepCharacters) {
      characters = 0;
      yield;
    }
  }
  return parts.join('').trimEnd();
}

/** A JSON text of a client, which is valid, without the white space between its tokens. */
export function* compact(text: string): Steps<string> {
  const parts: string[] = [];
  let from = 0;
  let tokens = 0;
  for (let at = 0; at < text.length; ) {
    if (++tokens % stepTokens === 0) yield;
    const end = endOfToken(text, at);
    if (text.charCodeAt(at) <= 0x20) {
      if (at > from) parts.push(text.slice(from, at));
      from = end;
    }
    at = end;
  }
  parts.push(text.slice(from));
  return parts.join('');
}

/** Where objects are in a response: it is one, a list of them, or a table. */
const managedFieldsPaths: ReadonlySet<string> = new Set([
  'metadata.managedFields',
  'items[].metadata.managedFields',
  'rows[].object.metadata.managedFields',
]);

interface Container {
  /** That of a member of an object; an array has `[]` for each of its items. */
  key: string;
  readonly isArray: boolean;
  /** The last comma between its members. */
  commaAt: number | undefined;
}

/** A JSON text of ours without the managed fields of its objects. */
export function* dropManagedFields(text: string): Steps<string> {
  const kept: string[] = [];
  const containers: Container[] = [];
  let from = 0;
  let tokens = 0;
  let isKey = false;
  for (let at = 0; at < text.length; ) {
    if (++tokens % stepTokens === 0) yield;
    const end = endOfToken(text, at);
    const code = text.charCodeAt(at);
    const container = containers.at(-1);
    if (code === openBrace || code === openBracket) {
      containers.push({ key: '', isArray: code === openBracket, commaAt: undefined });
      isKey = code === openBrace;
    } else if (code === closeBrace || code === closeBracket) {
      containers.pop();
      isKey = false;
    } else if (code === comma && container) {
      container.commaAt = at;
      isKey = !container.isArray;
    } else if (code === quote && isKey && container) {
      isKey = false;
      // A key is compared as it is written: ours have no escapes.
      container.key = text.slice(at + 1, end - 1);
      if (container.key === 'managedFields' && managedFieldsPaths.has(getPath(containers))) {
        const after = yield* findValueEnd(text, end);
        const isFirst = container.commaAt === undefined;
        kept.push(text.slice(from, container.commaAt ?? at));
        const isFollowed = text.charCodeAt(after) === comma;
        from = isFirst && isFollowed ? after + 1 : after;
        isKey = isFirst && isFollowed;
        at = from;
        continue;
      }
    }
    at = end;
  }
  kept.push(text.slice(from));
  return kept.join('');
}

const getPath = (containers: readonly Container[]): string =>
  containers.reduce((path, { key, isArray }) => {
    if (isArray) return `${path}[]`;
    return path === '' ? key : `${path}.${key}`;
  }, '');

/** The index behind the value of a member, whose key ends here. */
function* findValueEnd(text: string, keyEnd: number): Steps<number> {
  let depth = 0;
  let tokens = 0;
  for (let at = keyEnd; at < text.length; ) {
    if (++tokens % stepTokens === 0) yield;
    const end = endOfToken(text, at);
    const code = text.charCodeAt(at);
    if (code === openBrace || code === openBracket) depth++;
    else if (code === closeBrace || code === closeBracket) depth--;
    at = end;
    if (depth === 0 && code !== colon && code > 0x20) return at;
  }
  return text.length;
}

/** What stands in the place of a token. */
const hidden = '[hidden]';
/** The resources that tokens are sent to or answered by. */
const tokenResources: ReadonlySet<string> = new Set(['/serviceaccounts/token', 'authentication.k8s.io/tokenreviews/']);
/** A token with all that is said of it is much smaller; reading what is larger would take long. */
const tokenCharactersMax = 32 * 1024;

/** Whether objects of a resource hold tokens. */
export const holdsTokens = (group: string, plural: string, subresource: string | undefined): boolean =>
  tokenResources.has(`${group}/${plural}/${subresource ?? ''}`);

/** The text without the tokens in it; undefined if it is too large to be looked through. */
export function hideTokens(text: string): string | undefined {
  if (text.length > tokenCharactersMax) return undefined;
  const hide = (key: string, value: unknown): unknown =>
    key === 'token' && typeof value === 'string' && value !== '' ? hidden : value;
  return JSON.stringify(JSON.parse(text, hide));
}
