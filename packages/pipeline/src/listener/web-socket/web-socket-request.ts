import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiResponse, StreamBody } from '../../exchange.ts';
import type { Handshake } from './handshake.ts';
import { Incoming } from './client-frames.ts';
import { closeCodes, closeMessage, message } from './messages.ts';
import type { Connection } from '../connection/connection.ts';
import { hangUp } from '../connection/lingering-close.ts';
import { Http1Request, headOf } from '../http1/http1-request.ts';
import { pongBacklogBytesMax } from '../limits.ts';
import type { Outlet } from '../request/write-body.ts';
import type { ListenerContext } from '../listener-context.ts';
import { isStreaming } from '../request/socket-request.ts';

/** What Node hands over with a request after which its connection speaks another protocol. */
export interface Upgrade {
  readonly request: IncomingMessage;
  /** For an answer in HTTP, and for the head of the other one. */
  readonly response: ServerResponse;
  readonly socket: Socket;
  /** What came behind the request already. */
  readonly early: Buffer;
}

/**
 * A request for a WebSocket. What answers it decides: 101 with a stream of messages, or any other answer, which is
 * sent as HTTP and ends the connection.
 */
export class WebSocketRequest extends Http1Request {
  readonly #upgrade: Upgrade;
  readonly #handshake: Handshake;
  readonly #incoming = new Incoming();
  #closing = false;

  constructor(upgrade: Upgrade, handshake: Handshake, connection: Connection, context: ListenerContext) {
    const { request, response } = upgrade;
    super(request, response, false, connection, context, understoodHeaders(request.rawHeaders, handshake));
    this.#upgrade = upgrade;
    this.#handshake = handshake;
  }

  override get isWebSocket(): boolean {
    return true;
  }

  protected override respond(answer: ApiResponse): void {
    const { body, headers, status } = answer;
    if (status !== switchingProtocols || !isStreaming(body)) return super.respond(answer);
    const { response, socket, early } = this.#upgrade;
    if (!socket.destroyed) {
      response.writeHead(status, headOf({ ...headers, ...this.#handshake.headers }, status, undefined));
      response.flushHeaders();
      response.detachSocket(socket);
      this.#read(early);
      const read = (piece: Buffer): void => this.#read(piece);
      socket.on(
        'data',
        this.context.guard.callback('websocket', read, () => socket.destroy()),
      );
    }
    // Of a socket that is gone the handler has to know, too: it holds resources until its stream has run.
    this.context.guard.settle('websocket', this.#write(new WebSocketOutlet(socket, () => this.#closing), body), () =>
      socket.destroy(),
    );
  }

  async #write(outlet: Outlet, body: StreamBody): Promise<void> {
    await this.writeBody(outlet, body);
    this.#close(this.context.draining.aborted ? closeCodes.goingAway : closeCodes.normal);
  }

  #read(piece: Buffer): void {
    if (this.#closing) return;
    const { ping, close } = this.#incoming.read(piece);
    const { socket } = this.#upgrade;
    // Who does not read its pongs gets none, instead of a backlog of them.
    if (ping && socket.writableLength <= pongBacklogBytesMax) socket.write(message('pong', ping));
    if (close !== undefined) this.#close(close);
  }

  /** Says why, once, and nothing after it. */
  #close(code: number): void {
    if (this.#closing) return;
    this.#closing = true;
    this.clientLeft();
    if (!this.#upgrade.socket.destroyed) hangUp(this.#upgrade.socket, this.context, closeMessage(code));
  }
}

/** Ends by the message that closes it, not by the end of what is sent into it. */
class WebSocketOutlet implements Outlet {
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

/** The token stands where every other client puts it, and nobody reads it as a protocol. */
function understoodHeaders(raw: readonly string[], { bearerToken, protocols }: Handshake): readonly string[] {
  const headers = raw.filter((_, at) => raw[at - (at % 2)]?.toLowerCase() !== 'sec-websocket-protocol');
  const isNamed = headers.some((name, at) => at % 2 === 0 && name.toLowerCase() === 'authorization');
  if (protocols.length > 0) headers.push('Sec-WebSocket-Protocol', protocols.join(', '));
  if (bearerToken !== undefined && !isNamed) headers.push('Authorization', `Bearer ${bearerToken}`);
  return headers;
}
