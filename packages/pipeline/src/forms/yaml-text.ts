import { formatYaml, parseJson } from '@cluster-apiserver/model';
import { closeBrace, closeBracket, colon, comma, endOfToken, openBrace, openBracket, quote } from './json-tokens.ts';

/** So much is given on at a time. */
const stepCharacters = 1024;

/** How often the library was asked in this step, which takes a fifth of a millisecond each time. */
interface Library {
  calls: number;
}
const stepCalls = 4;

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
  /** As it was written, with its colon. */
  keyCharacters: number;
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
  const library = { calls: 0 };
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
        levels.push({
          isMap: code === openBrace,
          isInline,
          space,
          entries: 0,
          key: '',
          keyCharacters: 0,
          isExplicit: false,
        });
        expectsKey = code === openBrace;
      } else if (code === closeBrace || code === closeBracket) {
        const closed = levels.pop();
        if (closed?.entries === 0) out += `${closed.space}${closed.isMap ? '{}' : '[]'}`;
      } else if (code === comma) expectsKey = level?.isMap === true;
      else if (code === quote && expectsKey && level) {
        level.key = JSON.parse(text.slice(at, end)) as string;
        out += beginEntry(level, levels.length - 1);
        const written = keyText(level.key, levels.length - 1, library);
        level.isExplicit = written.startsWith('? ');
        level.keyCharacters = written.length;
        out += written;
        expectsKey = false;
      } else if (code !== colon && code > 0x20) {
        if (level) out += beginValue(level, levels.length - 1);
        out += scalarText(text.slice(at, end), level, levels.length - 1, library);
      }
      at = end;
      if (out.length > stepCharacters || library.calls >= stepCalls) {
        yield out;
        out = '';
        library.calls = 0;
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
function keyText(key: string, depth: number, library: Library): string {
  if (key === '.') return '".":'; // of every owner of fields
  if (key.length <= keyCharactersMax && isPrintable.test(key) && isPlain(key)) return `${key}:`;
  if (depth > libraryDepthMax) return `${JSON.stringify(key)}:`;
  return nestedYaml({ [key]: 0 }, depth, library).slice(0, -' 0'.length);
}

/** A scalar, with the space behind its key. */
function scalarText(json: string, level: Level | undefined, depth: number, library: Library): string {
  if (!level) return formatYaml(parseJson(json).value).slice(0, -1);
  const space = level.isMap ? ' ' : '';
  if (json.charCodeAt(0) !== quote)
    return `${space}${isShortNumber.test(json) ? json : formatYaml(parseJson(json).value).trimEnd()}`;
  const value = json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
  const indent = 2 * (depth + 1);
  const start = level.isMap && !level.isExplicit ? level.keyCharacters + 1 : indent;
  const written = knownText(value, json, indent, start);
  if (written !== undefined) return `${space}${written}`;
  if (depth > libraryDepthMax) return `${space}${json}`;
  if (!level.isMap) return nestedYaml([value], depth, library).slice('- '.length);
  const key = keyText(level.key, depth, library);
  return nestedYaml({ [level.key]: value }, depth, library).slice(key.length);
}

/** What the library writes inside of so many maps. */
function nestedYaml(value: object, depth: number, library: Library): string {
  library.calls++;
  let outer = value;
  for (let i = 0; i < depth; i++) outer = { a: outer };
  // Each of the maps around it is a line, one step further in than the one before.
  const linesAround = depth * (depth + 2);
  return formatYaml(outer).slice(linesAround + 2 * depth, -1);
}

/** Deeper texts are quoted as in JSON, which is YAML too: the library calls itself for every level. */
const libraryDepthMax = 64;

/** Longer keys may be written in another way. */
const keyCharactersMax = 200;

const isShortNumber = /^(?:-?[0-9]{1,15}|true|false|null)$/;

/** A text whose form is plain to see; undefined for one that the library has to write. */
function knownText(text: string, json: string, indent: number, start: number): string | undefined {
  if (text === '' || isTime.test(text)) return json;
  if (!isPrintable.test(text)) return undefined;
  const unfoldedMax = Math.max(lineCharacters - indent, contentCharactersMin) + 1;
  if (isPlain(text)) return text.length <= unfoldedMax ? text : folded(text, indent, start);
  const isQuoted = isNotPlain.test(text) || isInteger.test(text);
  return isQuoted && !text.includes('"') && !text.includes('\\') && json.length <= unfoldedMax ? json : undefined;
}

/** ASCII, without what would have to be escaped between quotes of YAML alone. */
const isPrintable = /^[\x20-\x7e]*$/;

/** What would mean something else without quotes: signs of YAML, the end of a key, a comment, and `e-0`, a float. */
const isNotPlain = /^[ ,[\]{}#&*!|>'"%@`]|: | #|[ :]$|^[eE][-+]?[0-9]+$/;

/** The times of our objects, which YAML 1.1 would read as its own without quotes. */
const isTime = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z$/;
const isInteger = /^[0-9]+$/;

/** No number, time, boolean or null of YAML 1.1 looks like these. */
const isWord = /^[A-Za-z_/(]/;
const beginsWithDigit = /^[0-9][0-9A-Za-z_./-]*$/;
const hasLetterOfNoNumber = /[g-np-swyG-NP-SUVWY]/;
const isUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const isPlain = (text: string): boolean =>
  isWord.test(text)
    ? !isNotPlain.test(text) && !isKeyword(text)
    : isUuid.test(text) || (beginsWithDigit.test(text) && hasLetterOfNoNumber.test(text));

/** YAML 1.1 reads these as booleans or null. */
const keywords: ReadonlySet<string> = new Set(['true', 'false', 'yes', 'no', 'on', 'off', 'y', 'n', 'null']);
const isKeyword = (text: string): boolean => text.length <= 5 && keywords.has(text.toLowerCase());

/** The library folds what is longer than a line, at a space between two words, and leaves a line some width. */
const lineCharacters = 80;
const contentCharactersMin = 20;

/** A plain text in lines; undefined where two spaces stand together, or a long key leaves it no room. */
function folded(text: string, indent: number, start: number): string | undefined {
  if (text.includes('  ') || start > lineCharacters - contentCharactersMin) return undefined;
  const lineMax = Math.max(lineCharacters - indent, contentCharactersMin) + 1;
  const lines: string[] = [];
  let from = 0;
  for (let end = lineCharacters - start; end < text.length; ) {
    const before = text.lastIndexOf(' ', end);
    const at = before > from ? before : text.indexOf(' ', end + 1);
    if (at < 0) break;
    lines.push(text.slice(from, at));
    from = at + 1;
    end = at + lineMax;
  }
  return [...lines, text.slice(from)].join(`\n${' '.repeat(indent)}`);
}
