import https from 'node:https';
import type { TLSSocket } from 'node:tls';
import { systemClock as clock } from '@cluster-apiserver/base';

export interface Client {
  /** Rejects when there is no whole answer. Nothing is ever tried a second time. */
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  close(): void;
}

export interface RequestOptions {
  readonly body?: object;
  readonly contentType?: string;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly body: string;
}

/** A request without a whole answer. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  /** When the connection began that it was sent on; undefined when there was none. */
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

/** Beyond every time limit that the server has for itself: whoever reaches it hangs. */
const hangMs = 15_000;

/** One connection of HTTP/1.1, kept as long as the server keeps it; or one for each request. */
export function http1Client(url: string, { ca, token }: Credentials, { keepAlive = true } = {}): Client {
  const agent = new https.Agent({ ca, keepAlive, maxSockets: 1 });
  const connected = new WeakMap<object, number>();
  return {
    request: (method, path, { body, contentType = 'application/json' } = {}) =>
      new Promise((resolve, reject) => {
        let socket: TLSSocket | undefined;
        const content = body && { 'content-type': contentType };
        const request = https.request(`${url}${path}`, { method, agent, headers: { authorization: `Bearer ${token}`, ...content } });
        const fail = (error: unknown): void => reject(new NoAnswerError(socket && connected.get(socket), error));
        request.on('socket', (given) => {
          socket = given as TLSSocket; // an https agent makes no others
          if (!connected.has(given)) connected.set(given, clock.monotonicMs());
        });
        request.on('error', fail);
        request.setTimeout(hangMs, () => request.destroy(new Error(`no answer within ${hangMs} ms`)));
        request.on('response', (response) => {
          const pieces: Buffer[] = [];
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', fail);
          response.on('end', () =>
            resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'], body: Buffer.concat(pieces).toString() }),
          );
        });
        request.end(body && JSON.stringify(body));
      }),
    close: () => agent.destroy(),
  };
}
