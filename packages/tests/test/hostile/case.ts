import type { Request } from './requests.ts';

/** What one hostile client does on a connection of its own. */
export type Case = RawCase | WellFormedCase;

/** Bytes as they are. */
export interface RawCase {
  readonly kind: string;
  readonly over: 'http/1.1' | 'h2' | 'tcp';
  /** Written one after the other, each when the one before has left. */
  readonly pieces: readonly Buffer[];
  /** How the client ends: it shuts its side and reads on, or tears the connection. */
  readonly end: 'shut' | 'tear';
  /** The method of its one request, when it is whole and must be answered. */
  readonly method: string | undefined;
}

/** Requests by Node's own client of HTTP/2, which decodes the answers, all at once on one session. */
export interface WellFormedCase {
  readonly kind: string;
  readonly over: 'h2 client';
  readonly requests: readonly Request[];
}

/** A case as a text from which it can be made again; of what repeats itself there is one, and how often. */
export function describeCase(
  one: Case | { readonly kind: string; readonly over: string; readonly request: Request },
): string {
  return JSON.stringify(one, (_, value: unknown) => {
    const text = isBytes(value) ? Buffer.from(value.data).toString('latin1') : value;
    if (typeof text !== 'string') return text;
    const short = text.replaceAll(
      /(.{1,12}?)\1{20,}/gs,
      (run: string, part: string) => `«${part}»×${run.length / part.length}`,
    );
    return short.length > shownMax ? `${short.slice(0, shownMax)}… (${short.length})` : short;
  });
}

const shownMax = 2_000;

/** The form in which JSON.stringify hands over a Buffer. */
const isBytes = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value;
