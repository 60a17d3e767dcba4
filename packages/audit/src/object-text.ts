import type { SyncTask } from '@cluster-apiserver/base';
import { joinTexts, jsonTexts, jsonTokens } from '@cluster-apiserver/model/json';

/**
 * Serializes the objects of an event as JSON on one line, in steps of about a millisecond: an object may have megabytes, and
 * must not block other requests.
 */

const { closeBrace, closeBracket, colon, comma, endOfToken, openBrace, openBracket, quote } = jsonTokens;

/** Tokens per step. */
const stepTokens = 512;

/** Serializes a value as JSON. */
export const serialize = (value: unknown): SyncTask<string> => joinTexts(jsonTexts(value));

/** Removes the white space between the tokens of a valid JSON text. */
export function* compact(text: string): SyncTask<string> {
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

/** Paths of managed fields in a response: an object, a list or a table. */
const managedFieldsPaths: ReadonlySet<string> = new Set([
  'metadata.managedFields',
  'items[].metadata.managedFields',
  'rows[].object.metadata.managedFields',
]);

interface Container {
  /** Key of the current member of an object; unused for arrays. */
  key: string;
  readonly isArray: boolean;
  /** Position of the last comma between its members. */
  commaAt: number | undefined;
}

/** Removes managed fields from a JSON text that this server has serialized. */
export function* dropManagedFields(text: string): SyncTask<string> {
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
      // Keys are compared without unescaping: this server writes no escapes in keys.
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

/** The index after the value of a member, whose key ends at `keyEnd`. */
function* findValueEnd(text: string, keyEnd: number): SyncTask<number> {
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

/** Replaces tokens. */
const hidden = '[hidden]';
/** Resources whose requests or responses contain tokens. */
const tokenResources: ReadonlySet<string> = new Set(['/serviceaccounts/token', 'authentication.k8s.io/tokenreviews/']);
/** A token review is much smaller; parsing a larger text would block the event loop. */
const tokenCharactersMax = 32 * 1024;

/** Whether objects of a resource contain tokens. */
export const holdsTokens = (group: string, plural: string, subresource: string | undefined): boolean =>
  tokenResources.has(`${group}/${plural}/${subresource ?? ''}`);

/** Replaces tokens in a JSON text; undefined if it is too large to be parsed. */
export function hideTokens(text: string): string | undefined {
  if (text.length > tokenCharactersMax) return undefined;
  const hide = (key: string, value: unknown): unknown =>
    key === 'token' && typeof value === 'string' && value !== '' ? hidden : value;
  return JSON.stringify(JSON.parse(text, hide));
}
