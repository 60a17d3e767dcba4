import { type SyncTask } from '@cluster-apiserver/base';

/**
 * One pass over a JSON text before it is parsed. JSON.parse accepts any depth, silently keeps the last of duplicate keys,
 * rounds numbers and accepts lone surrogates; this pass finds all four. It does not check the grammar, which the parser
 * does.
 */
export interface JsonScan {
  /** Paths of the keys that an object holds twice, in the order of the text. */
  readonly duplicates: readonly string[];
  /** Whether a number is written with a point, an exponent or so many digits that a double may not hold it. */
  readonly exactNumbersNeeded: boolean;
  readonly mayHoldLoneSurrogate: boolean;
  readonly values: number;
  /** Paths of values deeper than `nestingMax`. */
  readonly deepPaths: readonly string[];
}

/**
 * Objects and lists within one another in what a client sends, as in YAML. No kind has a third of it; functions that
 * walk through a value call themselves at each level, so the stack ends at some thousands.
 */
export const nestingMax = 500;
/**
 * The same in what is stored, which the reference may have written, and in fields that no kind has, which are dropped
 * without being looked into. As in kube-apiserver.
 */
const deepestMax = 10_000;
/** More deep values than this are not listed. */
const deepPathsMax = 100;
/** Characters of the duplicates that are listed, in all. */
export const duplicatesCharactersMax = 32 * 1024;
/** A path is cut here: the names in it are the client's. */
const pathCharactersMax = 1024;
/** An integer of fifteen digits always fits into a double. */
const safeDigits = 15;
/** Keys of an object are compared one by one up to here, and through a set beyond. */
const comparedKeysMax = 16;

/**
 * Objects, lists and the commas between their members. Each costs a microsecond or less in every pass over an object, and
 * a pass is one event-loop iteration. An object with 6,200 references has this many, its managedFields among them.
 */
export const jsonValuesMax = 25_000;

/** Members of one object: V8 reads and copies one with more of them several times as slowly. */
export const jsonMembersMax = 10_000;

export class TooManyValuesError extends Error {
  override readonly name = 'TooManyValuesError';
  constructor(max: number, what = 'values', path?: string) {
    super(`${path ? `${shortened(path)}: ` : ''}it holds more than ${max} ${what}`);
  }
}

export class NestedTooDeepError extends Error {
  override readonly name = 'NestedTooDeepError';
  constructor(path: string, levelsMax: number) {
    super(`${shortened(path)}: nested deeper than ${levelsMax} levels`);
  }
}

/** A path is as long as the value is deep, and its beginning identifies the field. */
const shownPathMax = 100;
const shortened = (path: string): string => (path.length <= shownPathMax ? path : `${path.slice(0, shownPathMax)}…`);

/** How much a text may hold. */
export interface JsonBounds {
  readonly valuesMax: number;
  readonly nestingMax: number;
  /** Members of one object, if it is less. */
  readonly membersMax?: number;
  /** The objects of an outermost list may hold some values more, each up to a number of them. */
  readonly entries?: { readonly max: number; readonly values: number };
}

export const clientBounds: JsonBounds = { valuesMax: jsonValuesMax, membersMax: jsonMembersMax, nestingMax };
/** Of an object, of a kind that may have its own bound. */
export const boundsOfKind = ({ valuesMax = jsonValuesMax }: { readonly valuesMax?: number }): JsonBounds => ({
  ...clientBounds,
  valuesMax,
});

/** Stored values were bounded when they were written. */
export const storedBounds: JsonBounds = { valuesMax: Number.POSITIVE_INFINITY, nestingMax: deepestMax };

/** `at` is the key or index that the scan is at. */
type Level = ObjectLevel | ListLevel;

interface ObjectLevel {
  readonly keys: string[];
  seen: Set<string> | undefined;
  at: string;
}

/** It has the same properties, because V8 is fastest with one form. */
interface ListLevel {
  readonly keys: undefined;
  readonly seen: undefined;
  at: number;
}

const quote = 0x22;
const backslash = 0x5c;

export function scanJson(text: string, bounds?: JsonBounds): JsonScan {
  const scan = new Scan(text, bounds);
  while (!scan.isDone) scan.advance();
  return scan;
}

export function* scanInSteps(text: string, bounds?: JsonBounds): SyncTask<JsonScan> {
  const scan = new Scan(text, bounds);
  for (;;) {
    scan.advance();
    if (scan.isDone) return scan;
    yield;
  }
}

/** Characters and values per step: both take time. */
const stepCharacters = 64 * 1024;
const stepValues = 1024;

class Scan implements JsonScan {
  readonly duplicates: string[] = [];
  readonly deepPaths: string[] = [];
  exactNumbersNeeded = false;
  readonly mayHoldLoneSurrogate: boolean;
  values = 0;

  readonly #text: string;
  readonly #bounds: JsonBounds;
  #at = 0;
  readonly #levels: Level[] = [];
  #level: Level | undefined;
  #isKeyExpected = false;
  #allowedValues: number;
  #entriesLeft: number;
  #duplicatesLeft = duplicatesCharactersMax;
  #nextBackslash: number;

  constructor(text: string, bounds = clientBounds) {
    this.#text = text;
    this.#bounds = bounds;
    this.#allowedValues = bounds.valuesMax;
    this.#entriesLeft = bounds.entries?.max ?? 0;
    this.#nextBackslash = text.indexOf('\\');
    this.mayHoldLoneSurrogate = this.#nextBackslash >= 0 && /\\u[dD][89a-fA-F]/.test(text);
  }

  get isDone(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Reads one step of the text. */
  advance(): void {
    const text = this.#text;
    const end = Math.min(this.#at + stepCharacters, text.length);
    const valuesEnd = this.values + stepValues;
    let at = this.#at;
    for (; at < end && this.values < valuesEnd; at++) {
      const code = text.charCodeAt(at);
      if (code === quote) at = this.#readString(at);
      else if (code === 0x7b /* { */ || code === 0x5b /* [ */) this.#open(code === 0x7b);
      else if (code === 0x7d /* } */ || code === 0x5d /* ] */) {
        this.#levels.pop();
        this.#level = this.#levels.at(-1);
        this.#isKeyExpected = false;
      } else if (code === 0x2c /* , */) {
        this.#countValue();
        if (this.#level?.keys) this.#isKeyExpected = true;
        else if (this.#level) this.#level.at++;
      } else if (code === 0x2d /* - */ || (code >= 0x30 && code <= 0x39)) at = this.#readNumber(at);
    }
    this.#at = at;
  }

  #countValue(): void {
    if (++this.values > this.#allowedValues) throw new TooManyValuesError(this.#bounds.valuesMax);
  }

  #open(isObject: boolean): void {
    const levels = this.#levels;
    const { nestingMax: levelsMax, entries } = this.#bounds;
    if (levels.length === levelsMax) this.deepPaths.push(pathOf(levels));
    if (levels.length >= deepestMax || this.deepPaths.length > deepPathsMax)
      throw new NestedTooDeepError(pathOf(levels), Math.min(levels.length, deepestMax));
    if (entries && isObject && levels.length === 1 && !this.#level?.keys && this.#entriesLeft-- > 0)
      this.#allowedValues += entries.values;
    this.#countValue();
    this.#isKeyExpected = isObject;
    const level = isObject ? { keys: [], seen: undefined, at: '' } : { keys: undefined, seen: undefined, at: 0 };
    this.#level = level;
    levels.push(level);
  }

  /** Returns the index of the quote that ends the string. */
  #readString(start: number): number {
    const end = this.#endOfString(start);
    if (this.#isKeyExpected && this.#level?.keys) {
      this.#addKey(this.#level, this.#text.slice(start + 1, end));
      this.#isKeyExpected = false;
    }
    return end;
  }

  #addKey(level: ObjectLevel, raw: string): void {
    const key = raw.includes('\\') ? unescaped(raw) : raw;
    level.at = key;
    if (!isKnown(level, key)) {
      const { valuesMax, membersMax = valuesMax } = this.#bounds;
      if (level.keys.push(key) > membersMax)
        throw new TooManyValuesError(membersMax, 'members', pathOf(this.#levels.slice(0, -1)));
    } else if (this.#duplicatesLeft > 0) {
      const path = pathOf(this.#levels);
      this.#duplicatesLeft -= path.length + 1; // an empty path counts, too
      this.duplicates.push(path);
    }
  }

  /** The index of the quote that ends the string begun at `start`, or the text's length. */
  #endOfString(start: number): number {
    const text = this.#text;
    let end = text.indexOf('"', start + 1);
    while (end > 0) {
      if (this.#nextBackslash < start && this.#nextBackslash >= 0) this.#nextBackslash = text.indexOf('\\', start);
      if (this.#nextBackslash < 0 || this.#nextBackslash > end) return end;
      let escapes = 0;
      while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
      if (escapes % 2 === 0) return end;
      end = text.indexOf('"', end + 1);
    }
    return text.length;
  }

  /** Returns the index of its last character. */
  #readNumber(start: number): number {
    const text = this.#text;
    let at = start;
    while (at + 1 < text.length && isNumberPart(text.charCodeAt(at + 1))) {
      at++;
      const part = text.charCodeAt(at);
      if (part < 0x30 || part > 0x39) this.exactNumbersNeeded = true;
    }
    const digits = at + 1 - start - (text.charCodeAt(start) === 0x2d ? 1 : 0);
    if (digits > safeDigits) this.exactNumbersNeeded = true;
    return at;
  }
}

const isNumberPart = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2e || code === 0x2b || code === 0x2d || code === 0x45 || code === 0x65;

function isKnown(level: ObjectLevel, key: string): boolean {
  const { keys } = level;
  if (keys.length <= comparedKeysMax) return keys.includes(key);
  level.seen ??= new Set(keys);
  if (level.seen.has(key)) return true;
  level.seen.add(key);
  return false;
}

function unescaped(raw: string): string {
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    return raw; // not JSON: the parser reports that
  }
}

function pathOf(levels: readonly Level[]): string {
  let path = '';
  for (const { keys, at } of levels) {
    if (keys === undefined) path += `[${at}]`;
    else path += path === '' ? at : `.${at}`;
    if (path.length > pathCharactersMax) return `${path.slice(0, pathCharactersMax)}…`;
  }
  return path;
}
