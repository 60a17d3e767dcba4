/** Requests over HTTP/1.1 with Node's client, each with an own connection unless there is an agent. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import { finished } from 'node:stream/promises';

export interface HttpsOptions
  extends Pick<https.RequestOptions, 'ca' | 'cert' | 'key' | 'agent' | 'rejectUnauthorized' | 'signal'> {
  readonly method?: string;
  /** Undefined for no credential. */
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** An object is sent as JSON. */
  readonly body?: string | Buffer | object | undefined;
  /** How long the connection may be idle before request and response fail. */
  readonly quietMs?: number;
  /** Is called with the connection that the agent assigns. */
  readonly onSocket?: (socket: Socket) => void;
}

export interface HttpsResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
}

/** A response whose body has not been read. */
export function openHttps(url: string, options: HttpsOptions = {}): Promise<IncomingMessage> {
  const { method = 'GET', token, headers, body, agent = false, quietMs, onSocket, ...rest } = options;
  const isObject = typeof body === 'object' && !Buffer.isBuffer(body);
  // Node sends the headers before a text in UTF-8, and before bytes in Latin-1.
  const content = isObject ? JSON.stringify(body) : (body ?? '');
  const request = https.request(url, {
    ...rest,
    method,
    agent,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...(isObject && { 'content-type': 'application/json' }),
      // Node otherwise sends the body of a DELETE without framing.
      ...(body !== undefined && { 'content-length': String(Buffer.byteLength(content)) }),
      ...headers,
    },
  });
  if (onSocket) request.on('socket', onSocket);
  return new Promise((resolve, reject) => {
    let response: IncomingMessage | undefined;
    request.on('response', (begun) => {
      response = begun;
      resolve(begun);
    });
    // Also of a response that a test leaves in the middle.
    request.on('error', reject);
    if (quietMs !== undefined)
      request.setTimeout(quietMs, () => (response ?? request).destroy(new Error(`no response within ${quietMs} ms`)));
    request.end(content);
  });
}

export async function requestHttps(url: string, options?: HttpsOptions): Promise<HttpsResponse> {
  const response = await openHttps(url, options);
  // Not `buffer` of node:stream/consumers, whose Blob costs clients that send many requests.
  const pieces: Buffer[] = [];
  response.on('data', (piece: Buffer) => pieces.push(piece));
  await finished(response);
  const bytes = Buffer.concat(pieces);
  return { status: response.statusCode ?? 0, headers: response.headers, bytes, text: bytes.toString() };
}
