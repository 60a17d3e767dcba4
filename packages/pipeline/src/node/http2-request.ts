import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import { type ApiResponse, type Bytes, hasLength } from '../exchange.ts';
import { clientCertificates } from './client-certificates.ts';
import { headerLinesMax, lingerMs, pieceBytes } from './limits.ts';
import { refusal } from './refusal.ts';
import { isStreaming, SocketRequest, type Surroundings } from './socket-request.ts';

export class Http2Request extends SocketRequest {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  readonly protocol = 'HTTP/2.0';
  readonly #stream: ServerHttp2Stream;
  readonly #expect: string | undefined;
  #answeredMs: number | undefined;

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    raw: readonly string[],
    surroundings: Surroundings,
  ) {
    super(surroundings);
    this.#stream = stream;
    this.#expect = headers.expect;
    this.method = headers[':method'] as string;
    this.target = headers[':path'] ?? '';
    this.rawHeaders = raw;
  }

  get remoteAddress(): string {
    return this.#stream.session?.socket.remoteAddress ?? '';
  }

  get clientCertificates(): readonly Buffer[] {
    return clientCertificates(this.#stream.session?.socket as TLSSocket | undefined); // the listener speaks TLS alone
  }

  answer({ status, headers, body }: ApiResponse): void {
    const stream = this.#stream;
    const streaming = isStreaming(body);
    if (stream.destroyed || stream.closed) {
      // The handler holds resources for a stream until it has run; it finds that nobody listens.
      if (streaming) void this.send(stream, body);
      return;
    }
    const bytes = body === undefined ? noBytes : hasLength(body) ? body : undefined;
    const empty = bytes !== undefined && bytes.length === 0;
    try {
      stream.respond(headOf(headers, status, bytes), empty ? endStream : undefined);
    } catch (error) {
      return this.#answerInvalid(error);
    }
    // What is left of a body nobody wants: END_STREAM has told the answer, so the client may stop sending.
    if (this.bodyWasAskedFor && this.receivingBody)
      stream.once('finish', () => stream.close(constants.NGHTTP2_NO_ERROR));
    if (empty || (this.method === 'HEAD' && !streaming)) return;
    if (!streaming) this.sending();
    if (bytes !== undefined && bytes.length <= pieceBytes) this.bodyBytes = bytes.length;
    if (typeof bytes === 'string' && bytes.length <= pieceBytes) return void stream.end(bytes, 'latin1');
    if (Buffer.isBuffer(bytes) && bytes.length <= pieceBytes) return void stream.end(bytes);
    void this.send(stream, body as Exclude<ApiResponse['body'], undefined>).then(() => {
      if (!stream.destroyed) stream.end();
    });
  }

  refused(): ApiResponse | undefined {
    if (this.method === 'CONNECT') return refusal(405, 'this server is no proxy');
    if (this.target.charCodeAt(0) !== slash) return refusal(400, 'the request target must be a path');
    if (this.rawHeaders.length > headerLinesMax * 2) return refusal(431, `more than ${headerLinesMax} headers`);
    if (this.#expect !== undefined && this.#expect.toLowerCase() !== '100-continue') {
      return refusal(417, 'only 100-continue may be expected');
    }
    return undefined;
  }

  override sweep(nowMs: number): void {
    // Closed since the last sweep at least, and still here: its session broke off and delivers nothing any more.
    if (this.#stream.closed) return void this.#stream.destroy();
    super.sweep(nowMs);
    if (!this.#stream.writableFinished) return;
    this.#answeredMs ??= nowMs;
    // The client neither ends its body nor gives it up, though it has the answer.
    if (nowMs - this.#answeredMs > lingerMs) this.#stream.destroy();
  }

  /** Node reads these headers as UTF-8. */
  protected textOf(value: string): string {
    return value;
  }

  protected get hasBody(): boolean {
    return !this.#stream.endAfterHeaders;
  }

  protected get receivingBody(): boolean {
    return !this.#stream.readableEnded;
  }

  protected get bodyIsWhole(): boolean {
    return !this.#stream.closed;
  }

  protected get source(): ServerHttp2Stream {
    return this.#stream;
  }

  protected askForBody(): void {
    if (this.#expect !== undefined && !this.#stream.closed) this.#stream.additionalHeaders({ ':status': 100 });
  }

  protected cutOff(): void {
    // close() would send END_STREAM first, and the client would take what it has for the whole.
    this.#stream.destroy(new Error('the answer broke off'));
  }

  #answerInvalid(error: unknown): void {
    this.surroundings.report('an answer had headers that cannot be sent', error);
    if (this.#stream.headersSent || this.#stream.destroyed) return this.cutOff();
    const { status, headers, body } = refusal(500, 'the answer could not be written');
    this.#stream.respond(headOf(headers, status, body as Buffer));
    this.#stream.end(body);
  }
}

const noBytes = Buffer.alloc(0);
const slash = 0x2f;
const endStream = { endStream: true };

/** All but a tab, what is visible in ASCII, a space, and the upper half of Latin-1. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

type Http2Head = Record<string, string | number | string[]>;

function headOf(headers: ApiResponse['headers'], status: number, bytes: Bytes | undefined): Http2Head {
  const head: Http2Head = { ':status': status };
  for (const name in headers) {
    const value = headers[name] as string | string[];
    // Node checks this for HTTP/1.1 only; a proxy that speaks HTTP/1.1 to the client would split the answer there.
    if (unsendable.test(typeof value === 'string' ? value : value.join('')))
      throw new TypeError(`header ${name}: ${JSON.stringify(value)}`);
    head[name.toLowerCase()] = value;
  }
  if (bytes !== undefined && status !== 204 && status !== 304) head['content-length'] = bytes.length;
  return head;
}
