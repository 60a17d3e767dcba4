import https from 'node:https';
import { getCACertificates } from 'node:tls';
import type { Clock } from '@cluster-apiserver/base';

/** Fetches a text. Whatever is not a plain answer is an error: a redirect too, since it could lead anywhere. */
export type Get = (url: string, signal: AbortSignal) => Promise<string>;

/** Keys and discovery are some kilobytes. */
const bodyBytesMax = 1024 * 1024;
const timeoutMs = 30_000;

/** Trusts the given certificates, or those of the system when there are none. */
export const httpsGet =
  (clock: Clock, certificateAuthority: string | undefined): Get =>
  (url, signal) =>
    new Promise((resolve, reject) => {
      if (new URL(url).protocol !== 'https:') throw new Error('only https is fetched');
      const request = https.request(url, {
        signal,
        agent: false, // one fetch in minutes needs no connection kept for it
        ca: certificateAuthority ?? [...getCACertificates('default'), ...getCACertificates('system')],
        headers: { accept: 'application/json' },
      });
      const fail = (error: Error): void => {
        cancelDeadline();
        request.destroy();
        reject(new Error(`fetching ${url} failed`, { cause: error }));
      };
      // Over all, since a server that sends a byte now and then would never be idle.
      const cancelDeadline = clock.after(timeoutMs, () => fail(new Error(`no whole answer within ${timeoutMs} ms`)));
      request.on('error', fail);
      request.on('response', (response) => {
        if (response.statusCode !== 200) return fail(new Error(`the status is ${response.statusCode}`));
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > bodyBytesMax) fail(new Error(`the answer is larger than ${bodyBytesMax} bytes`));
          else chunks.push(chunk);
        });
        response.on('error', fail);
        response.on('end', () => {
          cancelDeadline();
          resolve(Buffer.concat(chunks).toString());
        });
      });
      request.end();
    });
