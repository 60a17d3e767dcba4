import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import tls, { getCACertificates } from 'node:tls';
import type { Clock } from '@cluster-apiserver/base';

/** Fetches a text. Whatever is not a plain answer is an error: a redirect too, since it could lead anywhere. */
export type Get = (url: string, signal: AbortSignal) => Promise<string>;

/** Connects to a host in a way of its own, such as through a proxy. */
export type Dial = (address: { readonly host: string; readonly port: number }, signal: AbortSignal) => Promise<Duplex>;

/** Keys and discovery are some kilobytes. */
const bodyBytesMax = 1024 * 1024;
const timeoutMs = 30_000;

/** Trusts the given certificates, or those of the system when there are none. */
export const httpsGet =
  (clock: Clock, certificateAuthority: string | undefined, dial?: Dial): Get =>
  async (url, signal) => {
    const late = new AbortController();
    // Over all, since a server that sends a byte now and then would never be idle.
    const cancelDeadline = clock.after(timeoutMs, () => late.abort(new Error(`no whole answer in ${timeoutMs} ms`)));
    let connection: Duplex | undefined;
    try {
      const place = new URL(url);
      if (place.protocol !== 'https:') throw new Error('only https is fetched');
      const ends = AbortSignal.any([signal, late.signal]);
      const ca = certificateAuthority ?? [...getCACertificates('default'), ...getCACertificates('system')];
      connection = await dial?.(addressOf(place), ends);
      return await textFrom(place, ca, connection, ends);
    } catch (cause) {
      throw new Error(`fetching ${url} failed`, { cause });
    } finally {
      cancelDeadline();
      connection?.destroy();
    }
  };

const addressOf = ({ hostname, port }: URL) => ({
  host: hostname.replace(/^\[(.*)\]$/, '$1'),
  port: port === '' ? 443 : Number(port),
});

function textFrom(
  url: URL,
  ca: string | string[],
  connection: Duplex | undefined,
  signal: AbortSignal,
): Promise<string> {
  const { host } = addressOf(url);
  const createConnection = connection && {
    createConnection: () =>
      tls.connect({ socket: connection, host, ca, ...(isIP(host) === 0 && { servername: host }) }),
  };
  return new Promise((resolve, reject) => {
    const request = https.request(url, {
      signal,
      agent: false, // one fetch in minutes needs no connection kept for it
      ca,
      headers: { accept: 'application/json' },
      ...createConnection,
    });
    const fail = (error: Error): void => {
      request.destroy();
      reject(error);
    };
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
      response.on('end', () => resolve(Buffer.concat(chunks).toString()));
    });
    request.end();
  });
}
