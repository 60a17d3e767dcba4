import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { OutgoingHeaders } from '../../exchange.ts';
import { closeLingering } from '../connection/lingering-close.ts';
import { rawHeadersOf } from '../http1/raw-headers.ts';
import { pongBacklogBytesMax } from '../limits.ts';
import type { ListenerContext } from '../listener-context.ts';
import type { BodyWriter } from '../request/write-body.ts';
import { ClientFrameReader } from './client-frames.ts';
import type { Handshake } from './handshake.ts';
import { closeCodes, encodeCloseMessage, encodeMessage } from './messages.ts';

export const switchingProtocols = 101;

/** What Node provides for a request to upgrade. */
export interface UpgradedSocket {
  /** For HTTP responses, and for the head of the upgrade. */
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** Bytes that arrived after the request. */
  readonly early: Buffer;
}

/**
 * The WebSocket that a request asks for. It opens if the response is a stream with status 101; any other response is
 * sent as HTTP and ends the connection.
 */
export class WebSocketConnection {
  readonly bodyWriter: BodyWriter;
  readonly #upgraded: UpgradedSocket;
  readonly #handshake: Handshake;
  readonly #context: ListenerContext;
  readonly #frames = new ClientFrameReader();
  #onClose = (): void => {};
  #isClosing = false;

  constructor(upgraded: UpgradedSocket, handshake: Handshake, context: ListenerContext) {
    this.#upgraded = upgraded;
    this.#handshake = handshake;
    this.#context = context;
    this.bodyWriter = new WebSocketBodyWriter(upgraded.socket, () => this.#isClosing);
  }

  /** The request headers, with the token in the Authorization header instead of the subprotocols. */
  requestHeaders(raw: readonly string[]): readonly string[] {
    const { bearerToken, protocols } = this.#handshake;
    const headers = raw.filter((_, at) => raw[at - (at % 2)]?.toLowerCase() !== 'sec-websocket-protocol');
    const isNamed = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization');
    if (protocols.length > 0) headers.push('Sec-WebSocket-Protocol', protocols.join(', '));
    if (bearerToken !== undefined && !isNamed) headers.push('Authorization', `Bearer ${bearerToken}`);
    return headers;
  }

  /** Completes the handshake and reads frames. `onClose` is called before the close frame of either side. */
  open(headers: OutgoingHeaders, onClose: () => void): void {
    this.#onClose = onClose;
    const { response, socket, early } = this.#upgraded;
    if (socket.destroyed) return;
    const allHeaders = { ...headers, ...this.#handshake.headers };
    response.writeHead(switchingProtocols, rawHeadersOf(allHeaders, switchingProtocols, undefined));
    response.flushHeaders();
    response.detachSocket(socket);
    this.#read(early);
    const read = (piece: Buffer): void => this.#read(piece);
    socket.on(
      'data',
      this.#context.guard.wrap('websocket', read, () => socket.destroy()),
    );
  }

  /** Closes the WebSocket after its stream. */
  finish(): void {
    this.#close(this.#context.draining.aborted ? closeCodes.goingAway : closeCodes.normal);
  }

  destroy(): void {
    this.#upgraded.socket.destroy();
  }

  #read(piece: Buffer): void {
    if (this.#isClosing) return;
    const { ping, close } = this.#frames.read(piece);
    const { socket } = this.#upgraded;
    // A client that does not read its pongs gets none.
    if (ping && socket.writableLength <= pongBacklogBytesMax) socket.write(encodeMessage('pong', ping));
    if (close !== undefined) this.#close(close);
  }

  /** Sends the close frame, once. */
  #close(code: number): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#onClose();
    const { socket } = this.#upgraded;
    if (!socket.destroyed) closeLingering(socket, this.#context, encodeCloseMessage(code));
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
