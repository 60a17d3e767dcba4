import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import https from 'node:https';
import type { TLSSocket } from 'node:tls';
import { systemClock as clock } from '@cluster-apiserver/base';

export interface Client {
  /**
   * Rejects without a complete response. Only refused HTTP/2 streams are retried: by RFC 9113, 8.7, the server did not
   * process them, and every client retries them.
   */
  request(method: string, path: string, options?: RequestOptions): Promise<ClientResponse>;
  close(): void;
}

export interface RequestOptions {
  readonly body?: object;
  readonly contentType?: string;
  /** Idle timeout of the response, longer for requests that wait for something. */
  readonly quietMs?: number;
}

export interface ClientResponse {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

/** A request without a complete response. */
export class NoResponseError extends Error {
  override readonly name = 'NoAnswerError';
  /** Start time of the connection; undefined if there was none. */
  readonly connectedMs: number | undefined;
  constructor(connectedMs: number | undefined, cause: unknown) {
    super(String(cause), { cause });
    this.connectedMs = connectedMs;
  }
}

export interface Credentials {
  readonly ca: Buffer;
  readonly token: string;
}

/** Longer than every time limit of the server: a request that reaches it hangs. */
const hangMs = 15_000;

/** One HTTP/1.1 connection, kept as long as the server keeps it; or one per request. */
export function http1Client(url: string, { ca, token }: Credentials, { keepAlive = true } = {}): Client {
  const agent = new https.Agent({ ca, keepAlive, maxSockets: 1 });
  const connected = new WeakMap<object, number>();
  return {
    request: (method, path, { body, contentType = 'application/json', quietMs = hangMs } = {}) =>
      new Promise((resolve, reject) => {
        let socket: TLSSocket | undefined;
        const content = body && { 'content-type': contentType };
        const request = https.request(`${url}${path}`, {
          method,
          agent,
          headers: { authorization: `Bearer ${token}`, ...content },
        });
        const fail = (error: unknown): void => reject(new NoResponseError(socket && connected.get(socket), error));
        request.on('socket', (given) => {
          socket = given as TLSSocket; // an https agent makes no others
          if (!connected.has(given)) connected.set(given, clock.monotonicMs());
        });
        request.on('error', fail);
        request.setTimeout(quietMs, () => request.destroy(new Error(`no response within ${quietMs} ms`)));
        request.on('response', (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', fail);
          response.on('end', () =>
            resolve({
              status: response.statusCode ?? 0,
              retryAfter: response.headers['retry-after'],
              body: Buffer.concat(pieces).toString(),
            }),
          );
        });
        request.end(body && JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
}

/** One HTTP/2 session, replaced after GOAWAY or when it ends. */
export function http2Client(url: string, { ca, token }: Credentials): Client {
  let session: ClientHttp2Session | undefined;
  let leaving = false;
  const current = (): ClientHttp2Session => {
    if (!session || session.closed || session.destroyed || leaving) {
      leaving = false;
      const opened = connect(url, { ca });
      session = opened;
      // Every request on the session also gets this error.
      opened.on('error', () => {});
      opened.on('goaway', () => {
        if (session === opened) leaving = true;
      });
    }
    return session;
  };
  const attempt = (
    method: string,
    path: string,
    { body, contentType = 'application/json', quietMs = hangMs }: RequestOptions,
  ) =>
    new Promise<ClientResponse | 'refused'>((resolve, reject) => {
      const content = body && { 'content-type': contentType };
      const stream = current().request({
        ':method': method,
        ':path': path,
        authorization: `Bearer ${token}`,
        ...content,
      });
      const pieces: Buffer[] = [];
      let head: IncomingHttpHeaders | undefined;
      stream.on('response', (headers) => (head = headers));
      stream.on('data', (piece: Buffer) => pieces.push(piece));
      stream.on('error', (error) => {
        if (stream.rstCode === constants.NGHTTP2_REFUSED_STREAM) resolve('refused');
        else reject(new NoResponseError(undefined, error));
      });
      stream.setTimeout(quietMs, () => stream.destroy(new Error(`no response within ${quietMs} ms`)));
      stream.on('close', () => {
        const bytes = Buffer.concat(pieces);
        const whole = head && stream.readableEnded && bytes.length === Number(head['content-length']);
        if (whole)
          resolve({ status: Number(head?.[':status']), retryAfter: head?.['retry-after'], body: bytes.toString() });
        else
          reject(
            new NoResponseError(undefined, `the stream ended with code ${stream.rstCode} after ${bytes.length} bytes`),
          );
      });
      stream.end(body && JSON.stringify(body));
    });
  return {
    request: async (method, path, options = {}) => {
      for (;;) {
        const answer = await attempt(method, path, options);
        if (answer !== 'refused') return answer;
        leaving = true;
      }
    },
    close: () => session?.destroy(),
  };
}
