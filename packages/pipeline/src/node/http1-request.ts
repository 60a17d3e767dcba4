import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { type ApiRequest, type ApiResponse, type Bytes, hasLength } from '../exchange.ts';
import { clientCertificates } from './client-certificates.ts';
import type { Connection } from './connection.ts';
import { drainedBodyBytesMax, headerLinesMax, lingerMs, pieceBytes } from './limits.ts';
import { refusal } from './refusal.ts';
import { chunkedOutlet } from './chunked-outlet.ts';
import { piecesOf } from './outlet.ts';
import { isStreaming, SocketRequest, type Surroundings } from './socket-request.ts';

export class Http1Request extends SocketRequest {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #connection: Connection;
  /** The client waits for our word before it sends the body, and we have not given it. */
  #heldBack: boolean;

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    heldBack: boolean,
    connection: Connection,
    surroundings: Surroundings,
    rawHeaders: readonly string[] = message.rawHeaders,
  ) {
    super(surroundings);
    this.#message = message;
    this.#response = response;
    this.#heldBack = heldBack;
    this.#connection = connection;
    this.method = message.method as string;
    this.target = message.url as string;
    this.rawHeaders = rawHeaders;
  }

  get remoteAddress(): string {
    return this.#message.socket.remoteAddress ?? '';
  }

  get clientCertificates(): readonly Buffer[] {
    return clientCertificates(this.#message.socket as TLSSocket); // the listener speaks TLS alone
  }

  get protocol(): ApiRequest['protocol'] {
    return this.#message.httpVersionMinor === 0 ? 'HTTP/1.0' : 'HTTP/1.1';
  }

  answer({ status, headers, body }: ApiResponse): void {
    const response = this.#response;
    const streaming = isStreaming(body);
    if (response.destroyed && !streaming) return;
    const bytes = body === undefined ? noBytes : hasLength(body) ? body : undefined;
    const leftover = this.#leftover();
    // A pipelined request behind this one has been accepted: its own answer will close the connection.
    const leaving = this.surroundings.draining.aborted && this.#connection.isNewest(this);
    if (leftover === 'too much' || leaving) this.endsConnection();
    try {
      response.writeHead(status, headOf(headers, status, bytes));
    } catch (error) {
      return this.#answerInvalid(error);
    }
    if (leftover === 'too much' && bytes !== undefined) return this.#linger(bytes);
    if (this.method === 'HEAD') {
      response.end();
      // The handler holds resources for a stream until it has run; it finds that nobody listens.
      if (streaming) void this.send(response, body);
      return;
    }
    if (streaming) response.flushHeaders();
    else this.sending();
    if (bytes !== undefined && bytes.length <= pieceBytes) this.bodyBytes = bytes.length;
    if (typeof bytes === 'string' && bytes.length <= pieceBytes) response.end(bytes, 'latin1');
    else if (Buffer.isBuffer(bytes) && bytes.length <= pieceBytes) response.end(bytes);
    else {
      const outlet = streaming ? chunkedOutlet(response) : response;
      void this.send(outlet, body as Exclude<ApiResponse['body'], undefined>).then(() => response.end());
    }
  }

  /** Why this request must not reach the pipeline, if it must not. */
  refused(): ApiResponse | undefined {
    const { headers, httpVersionMajor, httpVersionMinor } = this.#message;
    const raw = this.rawHeaders;
    if (httpVersionMajor !== 1 || httpVersionMinor > 1) return refusal(400, 'unknown HTTP version');
    if (this.target.charCodeAt(0) !== slash) return refusal(400, 'the request target must be a path');
    const transfer = headers['transfer-encoding'];
    if (transfer !== undefined) {
      // Two parsers that read such a message differently see two different next requests on the connection.
      if (httpVersionMinor === 0) return refusal(400, 'HTTP/1.0 knows no Transfer-Encoding');
      if (transfer.toLowerCase() !== 'chunked') return refusal(400, 'Transfer-Encoding must be chunked');
      if (headers['content-length'] !== undefined)
        return refusal(400, 'Content-Length and Transfer-Encoding exclude each other');
    }
    if (raw.length > headerLinesMax * 2) return refusal(431, `more than ${headerLinesMax} headers`);
    const hosts = occurrences(raw, 'host');
    if (hosts > 1 || (hosts === 0 && httpVersionMinor === 1)) return refusal(400, 'exactly one Host header is needed');
    if (headers['content-length'] !== undefined && occurrences(raw, 'content-length') > 1) {
      return refusal(400, 'more than one Content-Length');
    }
    return undefined;
  }

  /** No further request of this connection is served: what an attacker hid behind this one never runs. */
  endsConnection(): void {
    this.#response.shouldKeepAlive = false;
    this.#connection.ended = true;
  }

  /** Whether the client has sent all of its request. */
  get complete(): boolean {
    return this.#message.complete;
  }

  get headSent(): boolean {
    return this.#response.headersSent;
  }

  /** Node reads headers as Latin-1. */
  protected textOf(value: string): string {
    return /[\x80-\xff]/.test(value) ? Buffer.from(value, 'latin1').toString() : value;
  }

  protected get hasBody(): boolean {
    const { headers } = this.#message;
    return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  }

  protected get receivingBody(): boolean {
    return !this.#message.complete;
  }

  protected get bodyIsWhole(): boolean {
    return this.#message.complete;
  }

  protected get source(): IncomingMessage {
    return this.#message;
  }

  protected askForBody(): void {
    if (!this.#heldBack) return;
    this.#heldBack = false;
    this.#response.writeContinue();
  }

  protected cutOff(): void {
    this.#message.socket.destroy();
  }

  #leftover(): 'none' | 'a little' | 'too much' {
    // A body held back never comes: Node closes the connection after the answer, as the client may send it after all.
    if (this.#message.complete || this.#heldBack || !this.hasBody) return 'none';
    const declared = this.#message.headers['content-length'];
    return declared !== undefined && Number(declared) <= drainedBodyBytesMax && !this.#message.isPaused()
      ? 'a little'
      : 'too much';
  }

  /**
   * Answers while the client still sends. Closing at once would reset the connection, and the client's kernel would
   * throw our answer away with it: so the answer goes out whole, and what comes is thrown away for a moment longer.
   */
  #linger(bytes: Bytes): void {
    const response = this.#response;
    const message = this.#message;
    this.sending();
    message.removeAllListeners('data');
    message.resume();
    const done = (): void => {
      cancel();
      response.end();
    };
    const cancel = this.surroundings.clock.after(lingerMs, done);
    message.once('end', done);
    message.once('close', done);
    if (this.method === 'HEAD') response.flushHeaders();
    else response.write(Buffer.concat([...piecesOf(bytes, Buffer.allocUnsafe)]));
  }

  #answerInvalid(error: unknown): void {
    this.surroundings.report('an answer had headers that cannot be sent', error);
    if (this.#response.headersSent) return this.cutOff();
    const { status, headers, body } = refusal(500, 'the answer could not be written');
    this.#response.writeHead(status, headOf(headers, status, body as Buffer));
    this.#response.end(body);
  }
}

const noBytes = Buffer.alloc(0);
const slash = 0x2f;

/** Names and values in turn, which Node writes without looking anything up. */
export function headOf(headers: ApiResponse['headers'], status: number, bytes: Bytes | undefined): string[] {
  const head: string[] = [];
  for (const name in headers) {
    const value = headers[name] as string | readonly string[];
    if (typeof value === 'string') head.push(name, value);
    else for (const line of value) head.push(name, line);
  }
  if (bytes !== undefined && status !== 204 && status !== 304) head.push('Content-Length', String(bytes.length));
  return head;
}

function occurrences(raw: readonly string[], name: string): number {
  let count = 0;
  for (let i = 0; i < raw.length; i += 2) {
    const candidate = raw[i] as string;
    if (candidate.length === name.length && candidate.toLowerCase() === name) count += 1;
  }
  return count;
}
