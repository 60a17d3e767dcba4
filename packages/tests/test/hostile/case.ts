import type { Request } from './requests.ts';

/** The behavior of one hostile client on its own connection. */
export type Case = RawCase | WellFormedCase;

/** Raw bytes. */
export interface RawCase {
  readonly kind: string;
  readonly over: 'http/1.1' | 'h2' | 'tcp';
  /** Written sequentially, each after the previous one was flushed. */
  readonly pieces: readonly Buffer[];
  /** How the client ends: it closes its side and keeps reading, or resets the connection. */
  readonly end: 'shut' | 'tear';
  /** The method of its only request, if that is complete and must get a response. */
  readonly method: string | undefined;
}

/** Concurrent requests on one session of Node's HTTP/2 client, which decodes the responses. */
export interface WellFormedCase {
  readonly kind: string;
  readonly over: 'h2 client';
  readonly requests: readonly Request[];
}

/** Describes a case precisely enough to repeat it; repetitions are abbreviated. */
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
    return short.length > describedMax ? `${short.slice(0, describedMax)}… (${short.length})` : short;
  });
}

const describedMax = 2_000;

/** The result of JSON.stringify for a Buffer. */
const isBytes = (value: unknown): value is { data: number[] } =>
  typeof value === 'object' && value !== null && 'type' in value && value.type === 'Buffer' && 'data' in value;
