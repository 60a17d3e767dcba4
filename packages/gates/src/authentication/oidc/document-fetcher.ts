import { callUntil, type Clock, type Span } from '@cluster-apiserver/base';
import { type HttpsClient, HttpsError } from '../../https/https-client.ts';

/** Fetches a document of an issuer. It is shared by all who wait for it, so it has a time of its own; it shows in the trace of one. */
export type FetchDocument = (url: string, signal: AbortSignal, trace?: Span) => Promise<string>;

/** Keys and discovery are some kilobytes. */
const bodyBytesMax = 1024 * 1024;
const timeoutMs = 30_000;

/** Whatever is not a plain answer is an error. */
export const createDocumentFetcher =
  (client: HttpsClient, clock: Clock): FetchDocument =>
  async (url, signal, trace) => {
    const call = { ...callUntil(clock.monotonicMs() + timeoutMs, trace), signal };
    try {
      const request = { method: 'GET', url: new URL(url), bodyBytesMax, timeoutMs } as const;
      const { status, body } = await client.send(request, call);
      if (status !== 200) throw new HttpsError(`the status is ${status}`);
      return body;
    } catch (cause) {
      throw new Error(`fetching ${url} failed`, { cause });
    }
  };
