import { errorMessage, type SyncTask } from '@cluster-apiserver/base';
import { isRawNumber, rawNumber } from './raw-number.ts';
import {
  type JsonBounds,
  type JsonScan,
  NestedTooDeepError,
  nestingMax,
  scanJson,
  storedBounds,
  TooManyValuesError,
} from './json-scan.ts';

export interface Parsed {
  readonly value: unknown;
  /** Faults of the text that strict validation rejects: duplicate keys. */
  readonly faults: readonly TextFault[];
  /** Paths of values that are nested too deeply; see `parseDeepJson`. */
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
 * made before, because both together take long for a large text. Throws MalformedTextError or TooManyValuesError.
 */
export function parseJson(text: string, scanned: () => JsonScan = () => scanJson(text)): Parsed {
  return parseScanned(text, scanned, false);
}

/** The same for a text of others, which may be large: scan and parsing are a step each. Malformed text is never parsed. */
export function* parseJsonSteps(text: string, bounds?: JsonBounds): SyncTask<Parsed> {
  const scanned = scanOrThrowLater(text, bounds);
  yield;
  return parseJson(text, scanned);
}

/** Defers an error of the scan to the parser, which reports it. */
export function scanOrThrowLater(text: string, bounds?: JsonBounds): () => JsonScan {
  try {
    const scan = scanJson(text, bounds);
    return () => scan;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Like `parseJson`, but returns the paths of values that are nested too deeply. Callers must not walk into them. */
export function parseDeepJson(text: string, scanned: () => JsonScan): Parsed {
  return parseScanned(text, scanned, true);
}

function parseScanned(text: string, scanned: () => JsonScan, mayBeDeep: boolean): Parsed {
  try {
    const scan = scanned();
    const [deepPath] = scan.deepPaths;
    // To keep numbers and characters right, all values are walked through.
    if (deepPath !== undefined && (!mayBeDeep || scan.exactNumbersNeeded || scan.mayHoldLoneSurrogate))
      throw new NestedTooDeepError(deepPath, nestingMax);
    let value: unknown = scan.exactNumbersNeeded ? JSON.parse(text, reviveExactNumber) : JSON.parse(text);
    if (scan.mayHoldLoneSurrogate) value = toWellFormed(value);
    const faults = scan.duplicates.map((path) => ({ path, message: `duplicate field "${path}"` }));
    return deepPath === undefined ? { value, faults } : { value, faults, deepPaths: scan.deepPaths };
  } catch (error) {
    if (error instanceof TooManyValuesError) throw error;
    // Reviving recurses, so a deep text with exact numbers may overflow the stack: that is the text's fault as well.
    throw new MalformedTextError(`json parse error: ${errorMessage(error)}`, { cause: error });
  }
}

/** Keeps a number as it was written wherever a double might not. */
function reviveExactNumber(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || context.source === undefined) return value;
  return String(value) === context.source ? value : rawNumber(context.source);
}

function toWellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value !== 'object' || value === null || isRawNumber(value)) return value;
  if (Array.isArray(value)) return value.map(toWellFormed);
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key.toWellFormed(), toWellFormed(entry)]));
}
