import https from 'node:https';
import { getCACertificates } from 'node:tls';
import { WebhookError } from './webhook-error.ts';

/** Sends JSON to a webhook and gives its answer, whatever its status is. */
export type Post = (body: string, signal: AbortSignal) => Promise<PostAnswer>;

export interface PostAnswer {
  readonly status: number;
  readonly body: string;
}

export interface HttpsPostOptions {
  readonly url: URL;
  /** By which name the server is known, if not by that of its URL. */
  readonly serverName: string | undefined;
  /** Those of the system when there are none. */
  readonly ca: Buffer | undefined;
  readonly cert: Buffer | undefined;
  readonly key: Buffer | undefined;
  /** Asked for each time, because those who write such files also write them anew. */
  readonly token: () => Promise<string | undefined>;
}

/** A review is some kilobytes. */
const bodyBytesMax = 1024 * 1024;
/** Each can be kept open for the next question. */
const connectionsMax = 64;

export function httpsPost(options: HttpsPostOptions): { readonly post: Post; close(): void } {
  const { url, serverName, ca, cert, key, token } = options;
  const agent = new https.Agent({
    keepAlive: true,
    maxSockets: connectionsMax,
    ca: ca ?? [...getCACertificates('default'), ...getCACertificates('system')],
    ...(cert && key && { cert, key }),
    ...(serverName && { servername: serverName }),
  });
  const post: Post = async (body, signal) => {
    const bearer = await token();
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      accept: 'application/json',
      ...(bearer && { authorization: `Bearer ${bearer}` }),
    };
    return new Promise((resolve, reject) => {
      const request = https.request(url, { method: 'POST', agent, headers, signal });
      const fail = (problem: string, cause?: unknown): void => {
        request.destroy();
        reject(new WebhookError(problem, { cause }));
      };
      request.on('error', (error) => fail('it cannot be reached', error));
      request.on('response', (response) => {
        const pieces: Buffer[] = [];
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          bytes += piece.length;
          if (bytes > bodyBytesMax) fail(`its answer is larger than ${bodyBytesMax} bytes`);
          else pieces.push(piece);
        });
        response.on('error', (error) => fail('its answer broke off', error));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString() }));
      });
      request.end(body);
    });
  };
  return { post, close: () => agent.destroy() };
}
