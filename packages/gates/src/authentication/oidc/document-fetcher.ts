import { callUntil, type Clock, type Span } from '@cluster-apiserver/base';
import { type HttpsClient, HttpsError } from '../../https/https-client.ts';

/** Fetches a document of an issuer. Several requests share a fetch, so it has its own timeout; it appears in one trace. */
export type FetchDocument = (url: string, signal: AbortSignal, trace?: Span, bearerToken?: string) => Promise<string>;

/** Keys and discovery are some kilobytes. */
const bodyBytesMax = 1024 * 1024;
const timeoutMs = 30_000;

/** Any status but 200 is an error. */
export const createDocumentFetcher =
  (client: HttpsClient, clock: Clock): FetchDocument =>
  async (url, signal, trace, bearerToken) => {
    const call = { ...callUntil(clock.monotonicMs() + timeoutMs, trace), signal };
    try {
      const headers = bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` };
      const request = { method: 'GET', url: new URL(url), headers, bodyBytesMax, timeoutMs } as const;
      const { status, body } = await client.send(request, call);
      if (status !== 200) throw new HttpsError(`the status is ${status}`);
      return body;
    } catch (cause) {
      throw new Error(`fetching ${url} failed`, { cause });
    }
  };
