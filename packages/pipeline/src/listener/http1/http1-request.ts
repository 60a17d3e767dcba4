import type { IncomingMessage, ServerResponse } from 'node:http';
import { requireValue } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import { type BodySource, isReady, type ReadyBody } from '../../body-source.ts';
import type { ApiRequest, ApiResponse, OutgoingHeaders, WriteStream } from '../../exchange.ts';
import type { Connection } from '../connection/connection.ts';
import { drainedBodyBytesMax, lingerMs, lingeringMax, separateHeadBytesMin } from '../limits.ts';
import { createRefusal } from '../request/refusal.ts';
import { countHeader } from '../request/headers.ts';
import { switchingProtocols, type WebSocketConnection } from '../web-socket/web-socket-connection.ts';
import { rawHeadersOf } from './raw-headers.ts';
import { bodyWriterFor } from './chunked-body-writer.ts';
import { isSmall, SocketRequest } from '../request/socket-request.ts';
import type { ListenerContext } from '../listener-context.ts';

export class Http1Request extends SocketRequest {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  /** The host of an absolute target. */
  readonly #authority: string | undefined;
  readonly #message: IncomingMessage;
  readonly #response: ServerResponse;
  /** Set if the client requests a WebSocket. */
  readonly #webSocket: WebSocketConnection | undefined;
  /** The client waits for 100 Continue, which has not been sent. */
  #awaitsContinue: boolean;
  /** Writes the body, after the previous responses of the connection. */
  #begin: (() => void) | undefined;

  constructor(
    message: IncomingMessage,
    response: ServerResponse,
    awaitsContinue: boolean,
    connection: Connection,
    context: ListenerContext,
    webSocket?: WebSocketConnection,
  ) {
    super(connection, context);
    this.#message = message;
    this.#response = response;
    this.#awaitsContinue = awaitsContinue;
    this.method = requireValue(message.method, 'a parsed request has a method');
    const url = requireValue(message.url, 'a parsed request has a target');
    const { target, authority } = url.charCodeAt(0) === slash ? { target: url } : splitTarget(url);
    this.target = target;
    this.#authority = authority;
    this.#webSocket = webSocket;
    this.rawHeaders = webSocket ? webSocket.requestHeaders(message.rawHeaders) : message.rawHeaders;
  }

  get protocol(): ApiRequest['protocol'] {
    return this.#message.httpVersionMinor === 0 ? 'HTTP/1.0' : 'HTTP/1.1';
  }

  override get isWebSocket(): boolean {
    return this.#webSocket !== undefined;
  }

  protected writeResponse({ status, headers, body, stream }: ApiResponse): void {
    const response = this.#response;
    if (this.#webSocket && status === switchingProtocols && stream)
      return this.#streamMessages(this.#webSocket, headers, stream);
    if (response.destroyed && !stream) return;
    const bodyBytes = stream ? undefined : body === undefined ? 0 : body.length;
    const leftover = this.#unreadBody();
    // A later pipelined request has been accepted; its response will close the connection.
    const leaving = this.context.draining.aborted && this.connection.isNewest(this);
    if (leftover === 'large' || leaving) this.endsConnection();
    response.writeHead(status, rawHeadersOf(headers, status, bodyBytes));
    const isHead = this.method === 'HEAD';
    if (stream) return this.#beginStream(stream, isHead);
    this.markSending();
    if (leftover === 'large' && bodyBytes !== undefined)
      return this.#inTurn(() => this.#respondWhileReceiving(isHead ? undefined : (body ?? '')));
    if (isHead) {
      if (!isReady(body)) body.close();
      response.end();
    } else if (isSmall(body)) {
      this.markSent(bodyBytes ?? 0);
      if (body === undefined) response.end();
      else response.end(body, 'latin1');
    } else this.#inTurn(() => this.#write(body));
  }

  #beginStream(stream: WriteStream, isHead: boolean): void {
    const response = this.#response;
    // The handler releases the stream's resources when it has run and noticed the disconnect.
    if (isHead) {
      response.end();
      void this.writeStream(response, stream);
      return;
    }
    response.flushHeaders();
    this.#inTurn(async () => {
      if (await this.writeStream(bodyWriterFor(response), stream)) response.end();
    });
  }

  #streamMessages(webSocket: WebSocketConnection, headers: OutgoingHeaders, stream: WriteStream): void {
    webSocket.open(headers, () => this.abort());
    // Also for a closed socket: the handler releases its resources when the stream has run.
    const written = this.writeStream(webSocket.bodyWriter, stream).then(() => webSocket.finish());
    this.context.guard.catchRejection('websocket', written, () => webSocket.destroy());
  }

  async #write(body: ReadyBody | BodySource): Promise<void> {
    const response = this.#response;
    if ((body.length ?? 0) >= separateHeadBytesMin) response.flushHeaders();
    if (await this.writeBody(response, body)) response.end();
  }

  /** Generates the body only when its turn on the connection comes; otherwise it would wait in memory. */
  #inTurn(write: () => Promise<void>): void {
    const response = this.#response;
    const begin = (): void => this.context.guard.catchRejection('response', write(), () => this.cutOff());
    if (response.socket || response.destroyed) return begin();
    this.#begin = begin;
    response.once('socket', () => this.#beginNow());
  }

  #beginNow(): void {
    const begin = this.#begin;
    this.#begin = undefined;
    begin?.();
  }

  override finish(): void {
    super.finish();
    // Otherwise Node ends each pipelined request with an error, and builds its stack trace.
    if (this.isDisconnected && this.isComplete) this.#message.destroy();
    if (!this.#begin) return;
    // A stream whose turn has not come notices that the client is gone.
    this.#response.destroy();
    this.#beginNow();
  }

  protected findOwnRefusal(): StatusError | undefined {
    const { headers, httpVersionMajor, httpVersionMinor } = this.#message;
    if (httpVersionMajor !== 1 || httpVersionMinor > 1) return createRefusal(400, 'unknown HTTP version');
    const transfer = headers['transfer-encoding'];
    if (transfer !== undefined) {
      // A proxy that parses such a message differently would see another next request on the connection.
      if (httpVersionMinor === 0) return createRefusal(400, 'Transfer-Encoding is not allowed in HTTP/1.0');
      if (transfer.toLowerCase() !== 'chunked') return createRefusal(400, 'Transfer-Encoding must be chunked');
      if (headers['content-length'] !== undefined)
        return createRefusal(400, 'Content-Length and Transfer-Encoding are mutually exclusive');
    }
    const hosts = countHeader(this.rawHeaders, 'host');
    if (hosts > 1 || (hosts === 0 && httpVersionMinor === 1))
      return createRefusal(400, 'exactly one Host header is required');
    // It would count instead of the header, which others on the way have seen.
    if (this.#authority !== undefined && this.#authority !== (headers.host ?? this.#authority).toLowerCase())
      return createRefusal(400, 'the host of the request target is not that of the Host header');
    return undefined;
  }

  /** Serves no further request of this connection: a smuggled one never runs. */
  endsConnection(): void {
    this.#response.shouldKeepAlive = false;
    this.connection.isEnded = true;
  }

  /** Whether the request has arrived completely. */
  get isComplete(): boolean {
    return this.#message.complete;
  }

  get isHeadSent(): boolean {
    return this.#response.headersSent;
  }

  get isDisconnected(): boolean {
    return this.#message.socket.destroyed;
  }

  protected get isAnswered(): boolean {
    return this.#response.writableFinished;
  }

  /** Node decodes headers as Latin-1. */
  protected decodeHeaderValue(value: string): string {
    return /[\x80-\xff]/.test(value) ? Buffer.from(value, 'latin1').toString() : value;
  }

  protected get hasBody(): boolean {
    const { headers } = this.#message;
    return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
  }

  get isBodyArriving(): boolean {
    return !this.#message.complete;
  }

  get isBodyComplete(): boolean {
    return this.#message.complete;
  }

  get source(): IncomingMessage {
    return this.#message;
  }

  protected sendContinue(): void {
    if (!this.#awaitsContinue) return;
    this.#awaitsContinue = false;
    this.#response.writeContinue();
  }

  cutOff(): void {
    this.#message.socket.destroy();
  }

  #unreadBody(): 'none' | 'small' | 'large' {
    // A client that got no 100 Continue sends no body: Node closes the connection after the response.
    if (this.#message.complete || this.#awaitsContinue || !this.hasBody) return 'none';
    const declared = this.#message.headers['content-length'];
    return declared !== undefined && Number(declared) <= drainedBodyBytesMax && !this.#message.isPaused()
      ? 'small'
      : 'large';
  }

  /**
   * Responds while the client still sends. Closing at once would reset the connection, and the client's kernel would
   * drop the response. So the rest of the body is read and dropped for a moment.
   */
  async #respondWhileReceiving(body: ReadyBody | BodySource | undefined): Promise<void> {
    const { context } = this;
    const response = this.#response;
    const message = this.#message;
    message.removeAllListeners('data');
    message.resume();
    if (body === undefined) response.flushHeaders();
    else if (isSmall(body)) {
      // Now, since the dropped body may end the connection at once.
      this.markSent(body.length);
      response.write(body, 'latin1');
    } else await this.writeBody(response, body);
    const isCrowded = context.lingering >= lingeringMax;
    context.lingering += 1;
    const done = context.guard.wrap(
      'response',
      () => {
        cancel();
        message.off('end', done);
        message.off('close', done);
        context.lingering -= 1;
        response.end();
      },
      () => this.cutOff(),
    );
    const cancel = context.clock.after(isCrowded ? 0 : lingerMs, done);
    message.once('end', done);
    message.once('close', done);
    if (message.complete || message.destroyed) done();
  }
}

/** An absolute target (RFC 9112, 3.2.2), which clients send to proxies, has a scheme and an authority before the path. */
function splitTarget(url: string): { readonly target: string; readonly authority?: string } {
  const [whole, authority] = /^https?:\/\/([^/?#@\s]+)(?=[/?]|$)/i.exec(url) ?? [];
  if (whole === undefined || authority === undefined) return { target: url };
  const rest = url.slice(whole.length);
  return { target: rest.startsWith('/') ? rest : `/${rest}`, authority: authority.toLowerCase() };
}

const slash = 0x2f;
