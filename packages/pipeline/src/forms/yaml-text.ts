import { formatYaml, parseJson } from '@cluster-apiserver/model';
import { closeBrace, closeBracket, colon, comma, endOfToken, openBrace, openBracket, quote } from './json-tokens.ts';

/** So much is given on at a time. */
const stepCharacters = 1024;

/** One map or list around the place that the text is at. */
interface Level {
  readonly isMap: boolean;
  /** Its first entry stands on the line of what it is in: behind the dash of a list, or behind a key with a `?`. */
  readonly isInline: boolean;
  /** What parts it from a key on the same line. */
  readonly space: string;
  entries: number;
  /** The key whose value comes next. */
  key: string;
  /** The key was written with a `?`. */
  isExplicit: boolean;
}

/**
 * A JSON text as YAML, byte for byte what `formatYaml` makes of its value. The library needs a tree of the whole value
 * and writes two megabytes a second; here the structure is written as it comes, and the library is only asked about
 * keys and scalars that are not plain to see. No text ends inside of a token.
 */
export function* yamlText(texts: Iterable<string | undefined>): Generator<string | undefined> {
  const levels: Level[] = [];
  let expectsKey = false;
  let out = '';
  for (const text of texts) {
    if (text === undefined) {
      yield;
      continue;
    }
    for (let at = 0; at < text.length; ) {
      const end = endOfToken(text, at);
      const code = text.charCodeAt(at);
      const level = levels.at(-1);
      if (code === openBrace || code === openBracket) {
        if (level) out += beginValue(level, levels.length - 1);
        const isInline = !level?.isMap || level.isExplicit;
        const space = level?.isMap ? ' ' : '';
        levels.push({ isMap: code === openBrace, isInline, space, entries: 0, key: '', isExplicit: false });
        expectsKey = code === openBrace;
      } else if (code === closeBrace || code === closeBracket) {
        const closed = levels.pop();
        if (closed?.entries === 0) out += `${closed.space}${closed.isMap ? '{}' : '[]'}`;
      } else if (code === comma) expectsKey = level?.isMap === true;
      else if (code === quote && expectsKey && level) {
        level.key = JSON.parse(text.slice(at, end)) as string;
        out += beginEntry(level, levels.length - 1);
        const written = keyText(level.key, levels.length - 1);
        level.isExplicit = written.startsWith('? ');
        out += written;
        expectsKey = false;
      } else if (code !== colon && code > 0x20) {
        if (level) out += beginValue(level, levels.length - 1);
        out += scalarText(text.slice(at, end), level, levels.length - 1);
      }
      at = end;
      if (out.length > stepCharacters) {
        yield out;
        out = '';
      }
    }
  }
  yield `${out}\n`;
}

/** What stands in front of a value: in a list, the dash of its entry. */
function beginValue(level: Level, depth: number): string {
  return level.isMap ? '' : `${beginEntry(level, depth)}- `;
}

/** Every entry begins a line, but for the first one in a place that shares the line of what is around it. */
function beginEntry(level: Level, depth: number): string {
  level.entries++;
  if (level.entries === 1 && level.isInline) return level.space;
  return `\n${'  '.repeat(depth)}`;
}

/** A key and its colon. */
function keyText(key: string, depth: number): string {
  if (isPlainWord(key)) return `${key}:`;
  if (depth > libraryDepthMax) return `${JSON.stringify(key)}:`;
  return nestedYaml({ [key]: 0 }, depth).slice(0, -' 0'.length);
}

/** A scalar, with the space behind its key. */
function scalarText(json: string, level: Level | undefined, depth: number): string {
  const isBehindKey = level?.isMap === true;
  const space = isBehindKey ? ' ' : '';
  if (json.charCodeAt(0) !== quote)
    return `${space}${isShortInteger.test(json) ? json : formatYaml(parseJson(json).value).trimEnd()}`;
  const keyLength = isBehindKey ? level.key.length : 0;
  if (isPlain(json, 2 * depth + keyLength)) return `${space}${json.slice(1, -1)}`;
  if (isQuoted.test(json)) return `${space}${json}`;
  const value = JSON.parse(json) as string;
  if (!level) return formatYaml(value).slice(0, -1);
  if (depth > libraryDepthMax) return `${space}${json}`;
  if (!isBehindKey) return nestedYaml([value], depth).slice('- '.length);
  const key = keyText(level.key, depth);
  return nestedYaml({ [level.key]: value }, depth).slice(key.length);
}

/** What the library writes inside of so many maps. */
function nestedYaml(value: object, depth: number): string {
  let outer = value;
  for (let i = 0; i < depth; i++) outer = { a: outer };
  // Each of the maps around it is a line, one step further in than the one before.
  const linesAround = depth * (depth + 2);
  return formatYaml(outer).slice(linesAround + 2 * depth, -1);
}

/** Deeper texts are quoted as in JSON, which is YAML too: the library calls itself for every level. */
const libraryDepthMax = 64;

const isShortInteger = /^(?:-?[0-9]{1,15}|true|false|null)$/;

/** The times of our objects, which YAML 1.1 would read as its own without quotes. */
const isQuoted = /^"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z"$/;

const plainWord = /^[A-Za-z_/][A-Za-z0-9_/.-]*(?::[A-Za-z0-9_/.-]+)*$/;
const isPlainWord = (text: string): boolean => text.length <= 80 && plainWord.test(text) && !isKeyword(text);

/** Nobody folds a line so short, and no word in it means anything to YAML. */
const plainText = /^"[A-Za-z_/][A-Za-z0-9_/.()-]*(?: [A-Za-z0-9_/.(-][A-Za-z0-9_/.()-]*)*"$/;
const lineCharactersMax = 70;
const uuid = /^"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"$/;

function isPlain(json: string, before: number): boolean {
  if (json.length + before > lineCharactersMax) return false;
  return (plainText.test(json) && !isKeyword(json.slice(1, -1))) || uuid.test(json);
}

/** YAML 1.1 reads these as booleans or null. */
const keywords: ReadonlySet<string> = new Set(['true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null']);
const isKeyword = (text: string): boolean => text.length <= 5 && keywords.has(text.toLowerCase());
