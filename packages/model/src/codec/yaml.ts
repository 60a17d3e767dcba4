import { requireValue, runSync, setOwn, type SyncTask } from '@cluster-apiserver/base';
import {
  type AliasEvent,
  type Event,
  EVENT_ID,
  getScalarValue,
  parseEvents,
  SCALAR_STYLE,
  type MappingEvent,
  type ScalarEvent,
  type SequenceEvent,
  YAMLException,
} from 'js-yaml';
import { isJsonObject } from '../json/json-object.ts';
import { isRawNumber, rawNumber } from '../json/raw-number.ts';
import {
  clientBounds,
  duplicatesCharactersMax,
  type JsonBounds,
  NestedTooDeepError,
  nestingMax,
} from '../json/json-scan.ts';
import { MalformedTextError, type Parsed, parseJsonSteps, type TextFault } from '../json/json.ts';

/**
 * YAML as the API's clients write it: version 1.1, as kubectl and its libraries read it (`yes` is true, `<<` merges).
 * The library turns the text into events in linear time and stops at the first mistake. The events become values here,
 * in one pass: so every alias is paid for each time that it is followed, and duplicate keys are found with their lines.
 */

/** The largest YAML body, which takes about 10 ms of the event loop. JSON may be larger. */
export const yamlBytesMax = 64 * 1024;
/**
 * What a document may grow to by its aliases, in nodes and characters, as a multiple of the largest text. Without
 * aliases no text passes the double.
 */
const growthMax = 4;
/** The reader's words about a mistake may quote the text. */
const problemCharactersMax = 200;

export class YamlTooLargeError extends Error {
  override readonly name = 'YamlTooLargeError';
  constructor(bytesMax: number) {
    super(`the limit for YAML is ${bytesMax} bytes; larger bodies must be JSON`);
  }
}

/** Throws MalformedTextError or YamlTooLargeError. Of several documents the first one counts. */
export const parseYaml = (text: string, bytesMax?: number, bounds?: JsonBounds): Parsed =>
  runSync(parseYamlSteps(text, bytesMax, bounds));

/** The same in steps: JSON may be large, and YAML is a step. */
export function* parseYamlSteps(text: string, bytesMax = yamlBytesMax, bounds = clientBounds): SyncTask<Parsed> {
  const isLarge = Buffer.byteLength(text) > bytesMax;
  const json = /^\s*\{/.test(text) ? yield* parseAsJson(text, isLarge, bounds) : undefined;
  if (json) return json;
  yield;
  if (isLarge) {
    refuseMalformedBegin(text, bytesMax);
    throw new YamlTooLargeError(bytesMax);
  }
  return new Construction(text, growthMax * bytesMax).run(parseYamlEvents(text));
}

/** A value of a text, by where it is. */
export class Mark {
  readonly offset: number;
  readonly isBlockScalar: boolean;
  readonly items: Mark[];
  readonly members: Map<string, { readonly keyOffset: number; readonly mark: Mark }>;
  /** Maps whose members it has, too. */
  readonly merged: Mark[] = [];

  constructor(offset: number, isBlockScalar = false, like?: Mark) {
    this.offset = offset;
    this.isBlockScalar = isBlockScalar;
    this.items = like?.items ?? [];
    this.members = like?.members ?? new Map();
  }
}

interface Marks {
  root: Mark;
  /** Keys that a map has already. */
  readonly duplicateKeys: { readonly offset: number; readonly name: string }[];
}

/** Where the values are in a text that `parseYaml` has read. Of a JSON text that is no YAML nothing is found. */
export function markYaml(text: string): Marks {
  const marks: Marks = { root: new Mark(0), duplicateKeys: [] };
  try {
    new Construction(text, Number.POSITIVE_INFINITY, marks).run(parseYamlEvents(text));
  } catch (error) {
    if (!(error instanceof MalformedTextError)) throw error;
  }
  return marks;
}

/**
 * Every JSON text is YAML too. It is parsed as JSON where that is the same, because that is faster, and where it is
 * larger than YAML may be. Undefined if it is no JSON, or if YAML has other numbers or other words for its faults.
 */
function* parseAsJson(text: string, isLarge: boolean, bounds: JsonBounds): SyncTask<Parsed | undefined> {
  try {
    const parsed = yield* parseJsonSteps(text, bounds);
    const isSame = parsed.faults.length === 0 && !parsed.exactNumbersNeeded;
    return isSame || isLarge ? parsed : undefined;
  } catch (error) {
    if (error instanceof MalformedTextError && !(error.cause instanceof NestedTooDeepError)) return undefined;
    throw error;
  }
}

/** A text whose first lines are no YAML is malformed, however long it is. */
function refuseMalformedBegin(text: string, charactersMax: number): void {
  const begin = text.slice(0, text.lastIndexOf('\n', charactersMax) + 1);
  const lines = begin.split('\n').length;
  try {
    parseYamlEvents(begin);
  } catch (error) {
    const cause = error instanceof MalformedTextError ? error.cause : undefined;
    const line = cause instanceof YAMLException ? cause.mark?.line : undefined;
    // What is missing at the end may follow.
    if (line !== undefined && line < lines - unfinishedLines) throw error;
  }
}

/** The last line, and the empty one after it. */
const unfinishedLines = 2;

function parseYamlEvents(text: string): readonly Event[] {
  try {
    return parseEvents(text, { maxDepth: nestingMax });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const place = error.mark ? ` at line ${error.mark.line + 1}, column ${error.mark.column + 1}` : '';
    throw new MalformedTextError(`yaml: ${error.reason.slice(0, problemCharactersMax)}${place}`, { cause: error });
  }
}

/** A value with the cost of following an alias to it. */
interface Node {
  readonly value: unknown;
  /** Nodes and characters. */
  readonly size: number;
  /** Collections within one another. */
  readonly height: number;
  /** If places are wanted. */
  readonly mark: Mark | undefined;
}

/** A collection whose end has not come yet. */
interface Open {
  readonly value: unknown[] | Record<string, unknown>;
  readonly anchor: string | undefined;
  size: number;
  height: number;
  /** In a map: the key whose value is next. */
  key: Key | undefined;
  readonly mark: Mark | undefined;
}

interface Key {
  /** Undefined for `<<`, which merges maps. */
  readonly name: string | undefined;
  /** Whether it is a text: the number 1 and the text "1" are different keys. */
  readonly isText: boolean;
  readonly offset: number;
  readonly mark: Mark | undefined;
  /** Where its value begins, as errors name it. */
  line: number;
}

class Construction {
  readonly #text: string;
  readonly #sizeMax: number;
  #size = 0;
  readonly #open: Open[] = [];
  readonly #anchors = new Map<string, Node>();
  readonly #faults: TextFault[] = [];
  #faultCharactersLeft = duplicatesCharactersMax;
  /** The keys of each map, in the order of the text. */
  readonly #keys = new WeakMap<object, Map<string, Key>>();
  /** Lines are counted up to here. */
  #counted = { offset: 0, line: 1 };
  #document: unknown = null;
  readonly #marks: Marks | undefined;

  constructor(text: string, sizeMax: number, marks?: Marks) {
    this.#text = text;
    this.#sizeMax = sizeMax;
    this.#marks = marks;
  }

  run(events: readonly Event[]): Parsed {
    // The first event begins the document; without content there is none.
    for (const [index, event] of events.entries()) {
      if (index === 0) continue;
      switch (event.type) {
        case EVENT_ID.MAPPING:
        case EVENT_ID.SEQUENCE:
          this.#begin(event);
          break;
        case EVENT_ID.SCALAR:
          this.#scalar(event);
          break;
        case EVENT_ID.ALIAS:
          this.#alias(event);
          break;
        case EVENT_ID.POP:
          if (this.#open.length === 0) {
            const hasMoreDocuments = events.slice(index + 1).some((later) => this.#isContent(later));
            return { value: this.#document, faults: this.#faults, ...(hasMoreDocuments && { hasMoreDocuments }) };
          }
          this.#end();
          break;
        case EVENT_ID.DOCUMENT:
          throw new MalformedTextError('yaml: a document inside a document');
      }
    }
    return { value: this.#document, faults: this.#faults };
  }

  /** An empty document, such as one after a last `---`, has one empty scalar. */
  #isContent(event: Event): boolean {
    if (event.type === EVENT_ID.SCALAR) return getScalarValue(this.#text, event) !== '';
    return event.type !== EVENT_ID.DOCUMENT && event.type !== EVENT_ID.POP;
  }

  #anchorOf({ anchorStart, anchorEnd }: { anchorStart: number; anchorEnd: number }): string | undefined {
    return anchorStart < 0 ? undefined : this.#text.slice(anchorStart, anchorEnd);
  }

  #begin(event: MappingEvent | SequenceEvent): void {
    this.#noteLine(startOf(event, event.start));
    const value = event.type === EVENT_ID.MAPPING ? {} : [];
    const mark = this.#marks && new Mark(event.start);
    this.#open.push({ value, anchor: this.#anchorOf(event), size: 1, height: 1, key: undefined, mark });
  }

  #end(): void {
    const { value, anchor, size, height, mark } = requireValue(this.#open.pop(), 'only what has begun ends');
    for (const part of mark?.merged ?? [])
      for (const [name, found] of part.members) if (!mark?.members.has(name)) mark?.members.set(name, found);
    this.#put({ value, size, height, mark }, anchor);
  }

  #alias({ anchorStart, anchorEnd }: AliasEvent): void {
    const name = this.#text.slice(anchorStart, anchorEnd);
    const node = this.#anchors.get(name);
    if (!node) throw new MalformedTextError(`yaml: unknown anchor '${name.slice(0, problemCharactersMax)}' referenced`);
    if (this.#open.length + node.height > nestingMax)
      throw new MalformedTextError(`yaml: nested deeper than ${nestingMax} levels`);
    this.#spend(node.size);
    this.#noteLine(anchorStart);
    // The alias is where it stands; the values below it are where they were written.
    this.#put({ ...node, mark: node.mark && new Mark(anchorStart - 1, false, node.mark) }, undefined, anchorStart);
  }

  #scalar(event: ScalarEvent): void {
    const written = this.#textOf(event);
    const plain = event.style === SCALAR_STYLE.PLAIN;
    const tag = event.tagStart < 0 ? '' : this.#text.slice(event.tagStart, event.tagEnd);
    const parent = this.#open.at(-1);
    const isKey = parent && !Array.isArray(parent.value) && parent.key === undefined;
    const offset = startOf(event, isBlock(event) ? event.valueStart - 1 : event.valueStart);
    const mark = this.#marks && new Mark(event.valueStart - (isQuoted(event) ? 1 : 0), isBlock(event));
    if (isKey && plain && tag === '' && written === '<<') {
      parent.key = { name: undefined, isText: false, offset, line: 0, mark };
      return;
    }
    const size = 1 + written.length;
    this.#spend(size);
    const node = { value: valueOf(written, plain, tag), size, height: 0, mark };
    this.#noteLine(offset);
    this.#put(node, this.#anchorOf(event), offset);
  }

  #textOf(event: ScalarEvent): string {
    const written = getScalarValue(this.#text, event);
    // Only an escape can be one half of a character.
    if (!written.isWellFormed()) throw new MalformedTextError('yaml: an escape that is no character');
    // A block at the end of a document without a line break has none either, unlike in the library.
    const endsText = isBlock(event) && event.valueEnd === this.#text.length && !/[\r\n]$/.test(this.#text);
    return endsText && written.endsWith('\n') ? written.slice(0, -1) : written;
  }

  #spend(size: number): void {
    this.#size += size;
    if (this.#size > this.#sizeMax) throw new MalformedTextError('yaml: the document contains excessive aliasing');
  }

  /** A complete value takes its place. */
  #put(node: Node, anchor: string | undefined, offset = -1): void {
    if (anchor !== undefined) this.#anchors.set(anchor, node);
    const parent = this.#open.at(-1);
    if (!parent) {
      this.#document = node.value;
      if (this.#marks && node.mark) this.#marks.root = node.mark;
      return;
    }
    parent.size += node.size;
    parent.height = Math.max(parent.height, node.height + 1);
    if (node.mark) this.#mark(parent, node.mark);
    if (Array.isArray(parent.value)) parent.value.push(node.value);
    else if (parent.key === undefined) parent.key = keyOf(node, offset);
    else {
      const { name } = parent.key;
      if (name === undefined) this.#merge(parent.value, node.value);
      else this.#set(parent.value, name, parent.key, node.value);
      parent.key = undefined;
    }
  }

  #mark({ mark: outer, value, key }: Open, mark: Mark): void {
    if (Array.isArray(value)) outer?.items.push(mark);
    else if (key?.name === undefined) {
      if (key) outer?.merged.push(...(mark.items.length > 0 ? mark.items : [mark]));
    } else {
      const keyOffset = key.mark?.offset ?? key.offset;
      if (outer?.members.has(key.name)) this.#marks?.duplicateKeys.push({ offset: keyOffset, name: key.name });
      outer?.members.set(key.name, { keyOffset, mark });
    }
  }

  /** A duplicate is listed after the faults inside of its value, as by the clients' libraries. */
  #set(map: Record<string, unknown>, name: string, key: Key, value: unknown): void {
    let keys = this.#keys.get(map);
    if (!keys) this.#keys.set(map, (keys = new Map()));
    const { isText, line } = key;
    if (keys.get(name)?.isText === isText && this.#faultCharactersLeft > 0) {
      const shown = isText ? JSON.stringify(name) : name;
      const message = `line ${line}: key ${shown} already set in map`;
      this.#faultCharactersLeft -= message.length;
      this.#faults.push({ path: undefined, line, message });
    }
    keys.set(name, key);
    setOwn(map, name, value);
  }

  /**
   * As the clients' libraries do it, in the order of the text: merged keys replace those before, and are replaced by those
   * after, and both are duplicates. The first of several merged maps takes precedence.
   */
  #merge(map: Record<string, unknown>, value: unknown): void {
    const parts: readonly unknown[] = Array.isArray(value) ? value.toReversed() : [value];
    for (const part of parts) {
      if (!isJsonObject(part))
        throw new MalformedTextError('yaml: map merge requires map or sequence of maps as the value');
      for (const [name, key] of this.#keys.get(part) ?? []) this.#set(map, name, key, part[name]);
    }
  }

  /** The value of a key begins here. An empty one has no offset. */
  #noteLine(offset: number): void {
    const key = this.#open.at(-1)?.key;
    if (key) key.line = this.#lineOf(offset < 0 ? key.offset : offset);
  }

  /** Values begin in the order of the text, so every line is counted once. */
  #lineOf(offset: number): number {
    let { offset: at, line } = this.#counted;
    for (; at < offset; at++) if (this.#text.charCodeAt(at) === newline) line++;
    this.#counted = { offset: at, line };
    return line;
  }
}

const newline = 0x0a;

/** Where an event begins: its anchor and its tag are before its value. */
function startOf({ anchorStart, tagStart }: { anchorStart: number; tagStart: number }, valueStart: number): number {
  const starts = [anchorStart, tagStart, valueStart].filter((start) => start >= 0);
  return starts.length > 0 ? Math.min(...starts) : -1;
}

const isBlock = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.LITERAL_BLOCK || style === SCALAR_STYLE.FOLDED_BLOCK;

const isQuoted = ({ style }: ScalarEvent): boolean =>
  style === SCALAR_STYLE.SINGLE_QUOTED || style === SCALAR_STYLE.DOUBLE_QUOTED;

function keyOf({ value, mark }: Node, offset: number): Key {
  if (isRawNumber(value)) return { name: value.rawJSON, isText: false, offset, line: 0, mark };
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw new MalformedTextError(`yaml: a key that is ${value === null ? 'null' : 'a map or a list'}`);
  return { name: String(value), isText: typeof value === 'string', offset, line: 0, mark };
}

const textTags: ReadonlySet<string> = new Set(['!', '!!str']);
const coreTags: ReadonlySet<string> = new Set(['!!null', '!!bool', '!!int', '!!float']);

/** The JSON value of a scalar. A scalar without one, such as a date, is the string as written. */
function valueOf(written: string, plain: boolean, tag: string): unknown {
  if (coreTags.has(tag)) {
    const value = parsePlainScalar(written);
    if (typeof value === 'string') throw new MalformedTextError(`yaml: a value that is no ${tag}`);
    return value;
  }
  if (tag === '!!binary') return decodeBinary(written);
  return plain && !textTags.has(tag) && (tag === '' || tag.startsWith('!!')) ? parsePlainScalar(written) : written;
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** As in the clients' libraries a text: JSON has no bytes. */
function decodeBinary(written: string): string {
  const digits = written.replaceAll('\n', '');
  if (!base64.test(digits)) throw new MalformedTextError('yaml: !!binary value contains invalid base64 data');
  return Buffer.from(digits, 'base64').toString();
}

/** `y` and `n` stay texts: as keys they name coordinates far more often than they answer a question. */
const words: ReadonlyMap<string, boolean | null> = new Map([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['true', 'True', 'TRUE', 'yes', 'Yes', 'YES', 'on', 'On', 'ON'].map((word) => [word, true] as const),
  ...['false', 'False', 'FALSE', 'no', 'No', 'NO', 'off', 'Off', 'OFF'].map((word) => [word, false] as const),
]);

const numberStart = /^[-+.0-9]/;
const decimal = /^[-+]?[1-9][0-9]*$/;
const based = /^([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))$/;
const float = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;
const noJson = /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/;

/** By the rules of the clients' libraries, which know octal and underscores but no base of sixty. */
function parsePlainScalar(written: string): unknown {
  const word = words.get(written);
  if (word !== undefined) return word;
  if (!numberStart.test(written)) return written;
  if (noJson.test(written)) throw new MalformedTextError(`yaml: ${written} has no place in JSON`);
  const text = written.includes('_') ? written.replaceAll('_', '') : written;
  if (decimal.test(text)) return wholeNumber(text.startsWith('+') ? text.slice(1) : text);
  const [, sign, hex, binary, octal] = based.exec(text) ?? [];
  const digits = hex ? `0x${hex}` : binary ? `0b${binary}` : octal ? `0o${octal}` : undefined;
  if (digits) return wholeNumber(`${sign === '-' ? '-' : ''}${BigInt(digits)}`);
  if (!float.test(text)) return written;
  const value = Number(text);
  if (!Number.isFinite(value)) throw new MalformedTextError('yaml: a number that is too large');
  return value === 0 ? 0 : value;
}

const wholeNumber = (digits: string): unknown =>
  Number.isSafeInteger(Number(digits)) ? Number(digits) : rawNumber(digits);
