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
 * a pass is one turn of the event loop. An object with 6,200 references has this many, its managedFields among them.
 */
export const jsonValuesMax = 25_000;

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
  /** Members of one object, if it is less: passes over one with more take several times as long for each of them. */
  readonly membersMax?: number;
  /** The objects of an outermost list may hold some values more, each up to a number of them. */
  readonly entries?: { readonly max: number; readonly values: number };
}

export const clientBounds: JsonBounds = { valuesMax: jsonValuesMax, nestingMax };
/** Of an object, of a kind that may have its own bound. */
export const boundsOfKind = ({ valuesMax }: { readonly valuesMax?: number }): JsonBounds =>
  valuesMax === undefined ? clientBounds : { ...clientBounds, valuesMax, membersMax: largeKindMembersMax };

/** Of kinds whose objects may hold more values than others. */
const largeKindMembersMax = 10_000;
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

export function scanJson(
  text: string,
  { valuesMax, nestingMax: levelsMax, membersMax = valuesMax, entries }: JsonBounds = clientBounds,
): JsonScan {
  const duplicates: string[] = [];
  let duplicatesLeft = duplicatesCharactersMax;
  const deepPaths: string[] = [];
  const levels: Level[] = [];
  let level: Level | undefined;
  let keyExpected = false;
  let values = 0;
  let allowed = valuesMax;
  let entriesLeft = entries?.max ?? 0;
  let exactNumbersNeeded = false;
  let nextBackslash = text.indexOf('\\');
  const mayHoldLoneSurrogate = nextBackslash >= 0 && /\\u[dD][89a-fA-F]/.test(text);

  /** The index of the quote that ends the string begun at `start`, or the text's length. */
  const endOfString = (start: number): number => {
    let end = text.indexOf('"', start + 1);
    while (end > 0) {
      if (nextBackslash < start && nextBackslash >= 0) nextBackslash = text.indexOf('\\', start);
      if (nextBackslash < 0 || nextBackslash > end) return end;
      let escapes = 0;
      while (text.charCodeAt(end - 1 - escapes) === backslash) escapes++;
      if (escapes % 2 === 0) return end;
      end = text.indexOf('"', end + 1);
    }
    return text.length;
  };

  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === quote) {
      const end = endOfString(i);
      if (keyExpected && level?.keys) {
        const raw = text.slice(i + 1, end);
        const key = raw.includes('\\') ? unescaped(raw) : raw;
        level.at = key;
        if (isKnown(level, key)) {
          if (duplicatesLeft > 0) {
            const path = pathOf(levels);
            duplicatesLeft -= path.length + 1; // an empty path counts, too
            duplicates.push(path);
          }
        } else if (level.keys.push(key) > membersMax)
          throw new TooManyValuesError(membersMax, 'members', pathOf(levels.slice(0, -1)));
        keyExpected = false;
      }
      i = end;
    } else if (code === 0x7b /* { */ || code === 0x5b /* [ */) {
      if (levels.length === levelsMax) deepPaths.push(pathOf(levels));
      if (levels.length >= deepestMax || deepPaths.length > deepPathsMax)
        throw new NestedTooDeepError(pathOf(levels), Math.min(levels.length, deepestMax));
      if (entries && code === 0x7b && levels.length === 1 && !level?.keys && entriesLeft-- > 0)
        allowed += entries.values;
      if (++values > allowed) throw new TooManyValuesError(valuesMax);
      keyExpected = code === 0x7b;
      level = keyExpected ? { keys: [], seen: undefined, at: '' } : { keys: undefined, seen: undefined, at: 0 };
      levels.push(level);
    } else if (code === 0x7d /* } */ || code === 0x5d /* ] */) {
      levels.pop();
      level = levels.at(-1);
      keyExpected = false;
    } else if (code === 0x2c /* , */) {
      if (++values > allowed) throw new TooManyValuesError(valuesMax);
      if (level?.keys) keyExpected = true;
      else if (level) level.at++;
    } else if (code === 0x2d /* - */ || (code >= 0x30 && code <= 0x39)) {
      const start = i;
      while (i + 1 < text.length && isNumberPart(text.charCodeAt(i + 1))) {
        i++;
        const part = text.charCodeAt(i);
        if (part < 0x30 || part > 0x39) exactNumbersNeeded = true;
      }
      if (i + 1 - start - (code === 0x2d ? 1 : 0) > safeDigits) exactNumbersNeeded = true;
    }
  }
  return { duplicates, exactNumbersNeeded, mayHoldLoneSurrogate, values, deepPaths };
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
