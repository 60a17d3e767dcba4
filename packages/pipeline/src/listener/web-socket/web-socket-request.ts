import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiResponse, StreamBody } from '../../exchange.ts';
import type { Handshake } from './handshake.ts';
import { ClientFrameReader } from './client-frames.ts';
import { closeCodes, encodeCloseMessage, encodeMessage } from './messages.ts';
import type { Connection } from '../connection/connection.ts';
import { closeLingering } from '../connection/lingering-close.ts';
import { Http1Request, rawHeadersOf } from '../http1/http1-request.ts';
import { pongBacklogBytesMax } from '../limits.ts';
import type { BodyWriter } from '../request/write-body.ts';
import type { ListenerContext } from '../listener-context.ts';
import { isStreaming } from '../request/socket-request.ts';

/** What Node provides for a request to upgrade. */
export interface UpgradedConnection {
  readonly request: IncomingMessage;
  /** For HTTP responses, and for the head of the upgrade. */
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** Bytes that arrived after the request. */
  readonly early: Buffer;
}

/**
 * A request for a WebSocket. A stream with status 101 is sent as messages; any other response is sent as HTTP and ends
 * the connection.
 */
export class WebSocketRequest extends Http1Request {
  readonly #upgrade: UpgradedConnection;
  readonly #handshake: Handshake;
  readonly #incoming = new ClientFrameReader();
  #closing = false;

  constructor(upgrade: UpgradedConnection, handshake: Handshake, connection: Connection, context: ListenerContext) {
    const { request, response } = upgrade;
    super(request, response, false, connection, context, translateHeaders(request.rawHeaders, handshake));
    this.#upgrade = upgrade;
    this.#handshake = handshake;
  }

  override get isWebSocket(): boolean {
    return true;
  }

  protected override writeResponse(apiResponse: ApiResponse): void {
    const { body, headers, status } = apiResponse;
    if (status !== switchingProtocols || !isStreaming(body)) return super.writeResponse(apiResponse);
    const { response, socket, early } = this.#upgrade;
    if (!socket.destroyed) {
      response.writeHead(status, rawHeadersOf({ ...headers, ...this.#handshake.headers }, status, undefined));
      response.flushHeaders();
      response.detachSocket(socket);
      this.#read(early);
      const read = (piece: Buffer): void => this.#read(piece);
      socket.on(
        'data',
        this.context.guard.wrap('websocket', read, () => socket.destroy()),
      );
    }
    // Also for a closed socket: the handler releases its resources when the stream has run.
    this.context.guard.catchRejection(
      'websocket',
      this.#write(new WebSocketBodyWriter(socket, () => this.#closing), body),
      () => socket.destroy(),
    );
  }

  async #write(writer: BodyWriter, body: StreamBody): Promise<void> {
    await this.writeBody(writer, body);
    this.#close(this.context.draining.aborted ? closeCodes.goingAway : closeCodes.normal);
  }

  #read(piece: Buffer): void {
    if (this.#closing) return;
    const { ping, close } = this.#incoming.read(piece);
    const { socket } = this.#upgrade;
    // A client that does not read its pongs gets none.
    if (ping && socket.writableLength <= pongBacklogBytesMax) socket.write(encodeMessage('pong', ping));
    if (close !== undefined) this.#close(close);
  }

  /** Sends the close frame, once. */
  #close(code: number): void {
    if (this.#closing) return;
    this.#closing = true;
    this.abort();
    if (!this.#upgrade.socket.destroyed) closeLingering(this.#upgrade.socket, this.context, encodeCloseMessage(code));
  }
}

/** Ends with a close frame instead of `end()`. */
class WebSocketBodyWriter implements BodyWriter {
  readonly #socket: Socket;
  readonly #isClosing: () => boolean;

  constructor(socket: Socket, isClosing: () => boolean) {
    this.#socket = socket;
    this.#isClosing = isClosing;
  }

  get writableLength(): number {
    return this.#socket.writableLength;
  }

  get writableEnded(): boolean {
    return this.#socket.writableEnded;
  }

  get destroyed(): boolean {
    return this.#isClosing() || this.#socket.destroyed;
  }

  write(bytes: Buffer, sent?: (error?: Error | null) => void): boolean {
    return this.#socket.write(bytes, sent);
  }

  end(): void {}

  on(event: 'drain' | 'close', listener: () => void): void {
    this.#socket.on(event, listener);
  }

  off(event: 'drain' | 'close', listener: () => void): void {
    this.#socket.off(event, listener);
  }
}

const switchingProtocols = 101;

/** Moves the token from the subprotocols to the Authorization header. */
function translateHeaders(raw: readonly string[], { bearerToken, protocols }: Handshake): readonly string[] {
  const headers = raw.filter((_, at) => raw[at - (at % 2)]?.toLowerCase() !== 'sec-websocket-protocol');
  const isNamed = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization');
  if (protocols.length > 0) headers.push('Sec-WebSocket-Protocol', protocols.join(', '));
  if (bearerToken !== undefined && !isNamed) headers.push('Authorization', `Bearer ${bearerToken}`);
  return headers;
}
