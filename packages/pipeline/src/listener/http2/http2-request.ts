import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { requireValue } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import { isReady } from '../../body-source.ts';
import type { ApiResponse } from '../../exchange.ts';
import type { Connection } from '../connection/connection.ts';
import type { ListenerContext } from '../listener-context.ts';
import { firstPieceBytes, lingerMs, smallestPieceBytes } from '../limits.ts';
import { createRefusal } from '../request/refusal.ts';
import { isSmall, SocketRequest } from '../request/socket-request.ts';

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
    connection: Connection,
    context: ListenerContext,
  ) {
    super(connection, context);
    this.#stream = stream;
    this.#expect = headers.expect;
    this.method = requireValue(headers[':method'], 'Node resets streams without a method');
    this.target = headers[':path'] ?? '';
    this.rawHeaders = raw;
  }

  protected writeResponse({ status, headers, body, stream }: ApiResponse): void {
    const http2Stream = this.#stream;
    if (http2Stream.destroyed || http2Stream.closed) {
      // The handler releases the stream's resources when it has run and noticed the disconnect.
      if (stream) void this.writeStream(http2Stream, stream);
      return;
    }
    const bodyBytes = stream ? undefined : body === undefined ? 0 : body.length;
    const isEmpty = bodyBytes === 0;
    http2Stream.respond(responseHeadersOf(headers, status, bodyBytes), isEmpty ? endStream : undefined);
    // The rest of the body is not needed: after END_STREAM the client may stop sending.
    if (this.isBodyRequested && this.isBodyArriving)
      http2Stream.once(
        'finish',
        this.context.guard.wrap('response', () => http2Stream.close(constants.NGHTTP2_NO_ERROR)),
      );
    if (stream) return this.#endAfter(this.writeStream(http2Stream, stream));
    if (body === undefined || isEmpty || this.method === 'HEAD') {
      if (!isReady(body)) body.close();
      return;
    }
    this.markSending();
    if (isSmall(body)) {
      this.markSent(body.length);
      http2Stream.end(body, 'latin1');
    } else this.#endAfter(this.writeBody(http2Stream, body));
  }

  #endAfter(written: Promise<boolean>): void {
    const end = (isWhole: boolean): void => {
      if (isWhole && !this.#stream.destroyed) this.#stream.end();
    };
    this.context.guard.catchRejection('response', written.then(end), () => this.cutOff());
  }

  protected findOwnRefusal(): StatusError | undefined {
    if (this.method === 'CONNECT') return createRefusal(405, 'the CONNECT method is not supported');
    if (this.#expect !== undefined && this.#expect.toLowerCase() !== '100-continue')
      return createRefusal(417, 'unsupported expectation: only 100-continue is supported');
    const blank = findPaddedHeader(this.rawHeaders);
    if (blank !== undefined)
      return createRefusal(400, `the value of the ${blank} header begins or ends with whitespace`);
    return undefined;
  }

  get isDisconnected(): boolean {
    return this.#stream.closed || this.#stream.destroyed;
  }

  protected get isAnswered(): boolean {
    return this.#stream.writableFinished && !this.#stream.aborted;
  }

  protected get isHeadSent(): boolean {
    return this.#stream.headersSent;
  }

  /** What a closed window cannot take would stay in memory. */
  protected override get beginningBytes(): number {
    const { initialWindowSize = firstPieceBytes } = this.#stream.session?.remoteSettings ?? {};
    return Math.min(firstPieceBytes, Math.max(smallestPieceBytes, initialWindowSize));
  }

  override sweep(nowMs: number): void {
    // Closed since the last sweep, but not removed: its session failed and emits no more events.
    if (this.#stream.closed) return void this.#stream.destroy();
    super.sweep(nowMs);
    if (!this.#stream.writableFinished) return;
    this.#answeredMs ??= nowMs;
    // The client neither ends nor aborts its body, though it has the response.
    if (nowMs - this.#answeredMs > lingerMs) this.#stream.destroy();
  }

  /** Node decodes these headers as UTF-8. */
  protected decodeHeaderValue(value: string): string {
    return value;
  }

  protected get hasBody(): boolean {
    return !this.#stream.endAfterHeaders;
  }

  get isBodyArriving(): boolean {
    return !this.#stream.readableEnded;
  }

  get isBodyComplete(): boolean {
    return !this.#stream.closed;
  }

  get source(): ServerHttp2Stream {
    return this.#stream;
  }

  protected sendContinue(): void {
    if (this.#expect !== undefined && !this.#stream.closed) this.#stream.additionalHeaders({ ':status': 100 });
  }

  cutOff(): void {
    // close() would send END_STREAM, and the client would take the response for complete.
    this.#stream.destroy(new Error('the response was aborted'));
  }
}

/**
 * Finds a header whose value begins or ends with a space or tab, which RFC 9113 (8.2.1) calls malformed. Over HTTP/1.1
 * the parser trims them.
 */
function findPaddedHeader(raw: readonly string[]): string | undefined {
  for (let i = 1; i < raw.length; i += 2) {
    const value = requireValue(raw[i]);
    if (isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1))) return raw[i - 1];
  }
  return undefined;
}

const isBlank = (code: number): boolean => code === 0x20 || code === 0x09;

const endStream = { endStream: true };

/** Characters that a header must not contain: all but tab, visible ASCII, space and the upper half of Latin-1. */
const unsendable = /[^\t\x20-\x7e\x80-\xff]/;

type Http2Head = Record<string, string | number | string[]>;

function responseHeadersOf(headers: ApiResponse['headers'], status: number, bodyBytes: number | undefined): Http2Head {
  const head: Http2Head = { ':status': status };
  for (const name in headers) {
    const value = requireValue(headers[name]);
    // Node checks this only for HTTP/1.1; a proxy that forwards over HTTP/1.1 could split the response.
    if (unsendable.test(typeof value === 'string' ? value : value.join('')))
      throw new TypeError(`header ${name}: ${JSON.stringify(value)}`);
    head[name.toLowerCase()] = typeof value === 'string' ? value : [...value];
  }
  if (bodyBytes !== undefined && status !== 204 && status !== 304) head['content-length'] = bodyBytes;
  return head;
}
