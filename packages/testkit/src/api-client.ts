/** Clients of the API server that tell a lost connection from a response, for tests and benchmarks. */
import { type ClientHttp2Session, connect, constants, type IncomingHttpHeaders } from 'node:http2';
import https from 'node:https';
import type { Socket } from 'node:net';
import { systemClock as clock } from '@cluster-apiserver/base';
import { type HttpsOptions, requestHttps } from './https-request.ts';

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
  /** By default JSON, and for a PATCH a JSON merge patch. */
  readonly contentType?: string;
  readonly headers?: HttpsOptions['headers'];
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
  override readonly name = 'NoResponseError';
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

/** Credentials of any kind, or none. */
export type Access = Pick<HttpsOptions, 'ca' | 'cert' | 'key' | 'token' | 'rejectUnauthorized'>;

/** Longer than every time limit of the server: a request that reaches it hangs. */
const hangMs = 15_000;

/** One HTTP/1.1 connection, kept as long as the server keeps it; or one per request. */
export function http1Client(url: string, access: Access, { keepAlive = true } = {}): Client {
  const { ca, cert, key, rejectUnauthorized, token } = access;
  const agent = new https.Agent({ ca, cert, key, rejectUnauthorized, keepAlive, maxSockets: 1 });
  const connected = new WeakMap<Socket, number>();
  return {
    request: async (method, path, { body, quietMs = hangMs, ...options } = {}) => {
      let connectedMs: number | undefined;
      const onSocket = (socket: Socket): void => {
        connectedMs = connected.get(socket) ?? clock.monotonicMs();
        connected.set(socket, connectedMs);
      };
      const headers = headersOf(method, body, options);
      try {
        const response = await requestHttps(url + path, { method, agent, token, headers, body, quietMs, onSocket });
        return { status: response.status, retryAfter: response.headers['retry-after'], body: response.text };
      } catch (error) {
        throw new NoResponseError(connectedMs, error);
      }
    },
    close: () => agent.destroy(),
  };
}

/** One HTTP/2 session, replaced after GOAWAY or when it ends. */
export function http2Client(url: string, { token, ca, cert, key }: Access): Client {
  let session: ClientHttp2Session | undefined;
  let leaving = false;
  const current = (): ClientHttp2Session => {
    if (!session || session.closed || session.destroyed || leaving) {
      leaving = false;
      const opened = connect(url, { ca, cert, key });
      session = opened;
      // Every request on the session also gets this error.
      opened.on('error', () => {});
      opened.on('goaway', () => {
        if (session === opened) leaving = true;
      });
    }
    return session;
  };
  const attempt = (method: string, path: string, { body, quietMs = hangMs, ...options }: RequestOptions) =>
    new Promise<ClientResponse | 'refused'>((resolve, reject) => {
      const stream = current().request({
        ':method': method,
        ':path': path,
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headersOf(method, body, options),
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
        const length = head?.['content-length'];
        // Large lists declare no length.
        const isWhole = length ? bytes.length === Number(length) : stream.rstCode === constants.NGHTTP2_NO_ERROR;
        if (head && stream.readableEnded && isWhole)
          resolve({ status: Number(head[':status']), retryAfter: head['retry-after'], body: bytes.toString() });
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

function headersOf(
  method: string,
  body: object | undefined,
  { contentType, headers }: Pick<RequestOptions, 'contentType' | 'headers'>,
): NonNullable<HttpsOptions['headers']> {
  const usual = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  return { ...(body && { 'content-type': contentType ?? usual }), ...headers };
}

/** Sends a request on a connection of its own. */
export function requestOnce(
  url: string,
  access: Access,
  ...request: Parameters<Client['request']>
): Promise<ClientResponse> {
  const client = http1Client(url, access, { keepAlive: false });
  return client.request(...request).finally(() => client.close());
}

/** For `until`: whether the server at this URL is ready. */
export async function isReady(url: string, access: Access): Promise<true | undefined> {
  const response = await requestOnce(url, access, 'GET', '/readyz').catch(() => undefined); // not listening yet
  return response?.status === 200 || undefined;
}

/** Sends a request that must succeed, and returns the body of its response. */
export async function requireSuccess(
  client: Pick<Client, 'request'>,
  ...request: Parameters<Client['request']>
): Promise<string> {
  const { status, body } = await client.request(...request);
  const [method, path] = request;
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${body}`);
  return body;
}
