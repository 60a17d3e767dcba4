/**
 * JSON as YAML that every reader understands: whatever one of them might take for a number, a boolean or a date is
 * quoted. The text is read token by token and written as it comes, so that a long list needs neither a tree nor one turn
 * of the event loop. Below a certain depth a value stands in one line, as JSON, which is YAML too: indentation alone
 * would make a deeply nested value larger than any bound.
 */
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  endOfToken,
  openBrace,
  openBracket,
  quote,
} from '../json/json-tokens.ts';

const blockDepthMax = 20;
/** The distance within which YAML readers search for the colon after a key. */
const keyCharactersMax = 1000;
/** Characters that are handed on at a time: few enough for a step, and enough that steps are few. */
const stepCharacters = 4096;

export const formatYaml = (value: unknown): string => [...yamlText([JSON.stringify(value) ?? 'null'])].join('');

/** No text ends inside of a token. An undefined text is a pause of its source and is passed on. */
export function* yamlText(texts: Iterable<string | undefined>): Generator<string | undefined> {
  const writer = new BlockWriter();
  for (const text of texts) {
    if (text === undefined) {
      yield;
      continue;
    }
    for (let at = 0; at < text.length; ) {
      const end = endOfToken(text, at);
      writer.write(text.charCodeAt(at), text.slice(at, end));
      at = end;
      if (writer.length > stepCharacters) yield writer.take();
    }
  }
  yield `${writer.take()}\n`;
}

/** A map or list in block style: each entry begins a line. */
interface Level {
  readonly isMap: boolean;
  readonly indent: string;
  /** Its first entry continues the current line: that of the dash before it, or the first of all. */
  readonly isInline: boolean;
  entries: number;
  /** In a map: whether a key follows, and not a value. */
  expectsKey: boolean;
}

class BlockWriter {
  readonly #levels: Level[] = [];
  /** The open maps and lists of a value in flow style. */
  #openInLine = 0;
  #out = '';

  get length(): number {
    return this.#out.length;
  }

  take(): string {
    const out = this.#out;
    this.#out = '';
    return out;
  }

  /** A token, and the code of its first character. */
  write(code: number, token: string): void {
    const level = this.#levels.at(-1);
    const opens = code === openBrace || code === openBracket;
    const closes = code === closeBrace || code === closeBracket;
    if (this.#openInLine > 0) {
      if (opens) this.#openInLine++;
      if (closes) this.#openInLine--;
      if (code > 0x20) this.#out += escapeForYaml(token);
    } else if (opens) this.#open(code === openBrace, level);
    else if (closes) this.#close();
    else if (code === comma) {
      if (level) level.expectsKey = level.isMap;
    } else if (code === quote && level?.expectsKey) this.#writeKey(textOf(token), level);
    else if (code !== colon && code > 0x20) {
      this.#beginValue(level);
      const space = level?.isMap ? ' ' : '';
      this.#out += `${space}${code === quote ? formatScalar(textOf(token), indentAfter(level)) : token}`;
    }
  }

  #open(isMap: boolean, outer: Level | undefined): void {
    this.#beginValue(outer);
    if (this.#levels.length >= blockDepthMax) {
      this.#out += `${outer?.isMap ? ' ' : ''}${isMap ? '{' : '['}`;
      this.#openInLine = 1;
      return;
    }
    // Items need no indentation of their own below a key: their dashes are one.
    const indent = outer?.isMap && !isMap ? outer.indent : indentAfter(outer);
    this.#levels.push({ isMap, indent, isInline: !outer?.isMap, entries: 0, expectsKey: isMap });
  }

  #close(): void {
    const closed = this.#levels.pop();
    if (closed?.entries === 0) this.#out += `${closed.isInline ? '' : ' '}${closed.isMap ? '{}' : '[]'}`;
  }

  #writeKey(key: string, level: Level): void {
    level.expectsKey = false;
    this.#beginEntry(level);
    const name = formatInOneLine(key);
    this.#out += name.length > keyCharactersMax ? `? ${name}\n${level.indent}:` : `${name}:`;
  }

  /** Of a value in a list: the dash of its item. */
  #beginValue(level: Level | undefined): void {
    if (!level || level.isMap) return;
    this.#beginEntry(level);
    this.#out += '- ';
  }

  #beginEntry(level: Level): void {
    if (level.entries > 0 || !level.isInline) this.#out += `\n${level.indent}`;
    level.entries++;
  }
}

/** The indentation of a value after a key or a dash. */
const indentAfter = (level: Level | undefined): string => (level ? `${level.indent}  ` : '');

const textOf = (token: string): string => (token.includes('\\') ? String(JSON.parse(token)) : token.slice(1, -1));

/** Several lines for a text that has them. */
const formatScalar = (text: string, indent: string): string =>
  block.test(text) ? formatBlock(text, indent) : formatInOneLine(text);

/** No control characters but newlines, a first line that begins with a letter or a sign, and more than one line. */
const block =
  /^[!-~\u00a0-\u2027\u202a-\ud7ff][\t -~\u00a0-\u2027\u202a-\ud7ff]*\n[\t\n -~\u00a0-\u2027\u202a-\ud7ff]*$/;

function formatBlock(text: string, indent: string): string {
  const end = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-';
  const body = text.endsWith('\n') ? text.slice(0, -1) : text;
  const inside = indent === '' ? '  ' : indent;
  return `|${end}\n${body
    .split('\n')
    .map((line) => (line === '' ? '' : inside + line))
    .join('\n')}`;
}

const plain = /^[A-Za-z_/](?:[A-Za-z0-9_./-]|:(?=[A-Za-z0-9])| (?=[A-Za-z0-9(]))*$/;
const reserved = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

const formatInOneLine = (text: string): string =>
  plain.test(text) && !reserved.test(text) ? text : escapeForYaml(JSON.stringify(text));

/** JSON leaves some characters as they are that no YAML may have. */
const escapeForYaml = (json: string): string =>
  json.replaceAll(
    /[\x7f-\x9f\u2028\u2029\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
