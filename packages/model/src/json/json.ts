import { errorMessage, type SyncTask } from '@cluster-apiserver/base';
import { parseInSteps } from './parse-in-steps.ts';
import { exactNumber, isRawNumber } from './raw-number.ts';
import {
  type JsonBounds,
  type JsonScan,
  NestedTooDeepError,
  nestingMax,
  scanInSteps,
  scanJson,
  storedBounds,
  TooManyValuesError,
} from './json-scan.ts';

export interface Parsed {
  readonly value: unknown;
  /** Faults of the text that strict validation rejects: duplicate keys. */
  readonly faults: readonly TextFault[];
  /** Whether numbers may be other than JSON.parse returns them; see `JsonScan`. */
  readonly exactNumbersNeeded?: boolean;
  /** Paths of values that are nested too deeply; see `parseDeepJsonSteps`. */
  readonly deepPaths?: readonly string[];
  /** Set if another document follows, which is not read. */
  readonly hasMoreDocuments?: boolean;
}

export interface TextFault {
  readonly path: string | undefined;
  /** Set for YAML. */
  readonly line?: number;
  readonly message: string;
}

/** The text is not of the format that it claims to be. */
export class MalformedTextError extends Error {
  override readonly name = 'MalformedTextError';
}

/** Parses JSON that this server or kube-apiserver stored, which was bounded when it was written. */
export const parseStoredJson = (text: string): Parsed => parseJson(text, () => scanJson(text, storedBounds));

/**
 * Parses JSON without losing anything: numbers keep their digits, lone surrogates become U+FFFD. The scan may have been
 * made before. Throws MalformedTextError or TooManyValuesError.
 */
export function parseJson(text: string, scanned: () => JsonScan = () => scanJson(text)): Parsed {
  try {
    const scan = scanned();
    requireNotDeep(scan);
    return toParsed(scan, parseAtOnce(text, scan));
  } catch (error) {
    throw asTextError(error);
  }
}

/** V8 parses a text of this length in some milliseconds, several times faster than it is parsed in steps. */
export const parsedAtOnceMax = 128 * 1024;

/** The same for a text of others, which may be large. A text with too many values is never parsed. */
export const parseJsonSteps = (text: string, bounds?: JsonBounds): SyncTask<Parsed> =>
  parseScannedSteps(text, bounds, requireNotDeep);

/** Like `parseJsonSteps`, but returns the paths of values that are nested too deeply. Callers must not walk into them. */
export const parseDeepJsonSteps = (text: string, bounds?: JsonBounds): SyncTask<Parsed> =>
  parseScannedSteps(text, bounds, requireWalkable);

function* parseScannedSteps(
  text: string,
  bounds: JsonBounds | undefined,
  requireParsable: (scan: JsonScan) => void,
): SyncTask<Parsed> {
  try {
    const scan = yield* scanInSteps(text, bounds);
    yield;
    requireParsable(scan);
    return toParsed(scan, text.length <= parsedAtOnceMax ? parseAtOnce(text, scan) : yield* parseInSteps(text));
  } catch (error) {
    throw asTextError(error);
  }
}

function toParsed({ duplicates, deepPaths, exactNumbersNeeded }: JsonScan, value: unknown): Parsed {
  const faults = duplicates.map((path) => ({ path, message: `duplicate field "${path}"` }));
  return { value, faults, exactNumbersNeeded, ...(deepPaths.length > 0 && { deepPaths }) };
}

function parseAtOnce(text: string, { exactNumbersNeeded, mayHoldLoneSurrogate }: JsonScan): unknown {
  const value: unknown = exactNumbersNeeded ? JSON.parse(text, reviveExactNumber) : JSON.parse(text);
  return mayHoldLoneSurrogate ? toWellFormed(value) : value;
}

function requireNotDeep({ deepPaths: [path] }: JsonScan): void {
  if (path !== undefined) throw new NestedTooDeepError(path, nestingMax);
}

/** To keep numbers and characters right, V8's parser and `toWellFormed` walk into all values. */
function requireWalkable(scan: JsonScan): void {
  if (scan.exactNumbersNeeded || scan.mayHoldLoneSurrogate) requireNotDeep(scan);
}

/** Reviving recurses, so a deep text with exact numbers may overflow the stack: that is the text's fault as well. */
const asTextError = (error: unknown): unknown =>
  error instanceof TooManyValuesError
    ? error
    : new MalformedTextError(`json parse error: ${errorMessage(error)}`, { cause: error });

/** Keeps a number as it was written wherever a double might not. */
const reviveExactNumber = (_key: string, value: unknown, { source }: { readonly source?: string }): unknown =>
  typeof value === 'number' && source !== undefined ? exactNumber(value, source) : value;

function toWellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) return value.map(toWellFormed);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.toWellFormed(), toWellFormed(entry)]));
}
