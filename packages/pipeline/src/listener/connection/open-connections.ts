import type { Http2SecureServer, Http2Session, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { Connection } from './connection.ts';
import type { ListenerContext } from '../listener-context.ts';
import * as limits from '../limits.ts';
import { closeLingering } from './lingering-close.ts';
import { createRefusal } from '../request/refusal.ts';
import type { OpenRequest } from '../request/open-request.ts';

/**
 * Tracks all sockets from accept until their descriptor is closed. Node forgets some of them: handshakes that hang, and
 * sessions that fail while the client disconnects. The sweep destroys these.
 */
export class OpenConnections {
  readonly #context: ListenerContext;
  readonly #perPeerMax: number;
  /**
   * By the client's address and port, which the TCP socket and the TLS socket share. A client that reuses a port has
   * left its first connection, which goes unnoticed where nothing was read from it.
   */
  readonly #accepted = new Map<string, Accepted>();
  readonly #perPeer = new Map<string, number>();
  readonly #connections = new Map<Duplex, Connection>();
  /**
   * Not a WeakMap: connections reference their session, and V8 then retained more than half of those that ended with an
   * error.
   */
  readonly #bySession = new Map<Http2Session, Connection>();
  #newest: Connection | undefined;
  #shortOfDescriptorsUntilMs = 0;
  /** The connections that a drain waits for. */
  #awaited = new Set<Connection>();
  #onAwaitedClosed = (): void => {};

  /** `perPeerMax` limits the connections of one address; 0 for no limit. */
  constructor(context: ListenerContext, perPeerMax: number) {
    this.#context = context;
    this.#perPeerMax = perPeerMax;
  }

  /** Wraps Node's listeners, so that each connection is registered before its first request. */
  attach(server: Http2SecureServer): void {
    const { guard, loop, measures } = this.#context;
    const destroy = (socket: { destroy(): void }): void => socket.destroy();
    const shakeHands = takeListeners(server, 'connection');
    const serve = takeListeners(server, 'secureConnection');
    const accept = guard.wrap('connection', (socket: Socket) => this.#accept(socket, shakeHands), destroy);
    const drop = guard.wrap('connection', () => measures.countRefusedConnection('limit'));
    const begin = guard.wrap(
      'connection',
      (socket: TLSSocket) => {
        if (socket.destroyed) return;
        this.#openConnection(socket);
        serve(socket);
      },
      destroy,
    );
    const secure = guard.wrap(
      'connection',
      (socket: TLSSocket) => {
        socket.on('error', ignoreSocketError);
        // From now on a half-closed connection may wait for a response.
        socket.allowHalfOpen = true;
        loop.runOrQueue('begin', () => begin(socket), limits.costsMs.beginning);
      },
      destroy,
    );
    const session = guard.wrap('connection', (opened: ServerHttp2Session) => this.#attachSession(opened), destroy);
    server.on('connection', accept).on('drop', drop).on('secureConnection', secure).on('session', session);
  }

  get size(): number {
    return this.#connections.size;
  }

  [Symbol.iterator](): IterableIterator<Connection> {
    return this.#connections.values();
  }

  /** Undefined if the socket has closed. */
  findBySocket(socket: Duplex): Connection | undefined {
    return this.#connections.get(socket);
  }

  findBySession(session: Http2Session | undefined): Connection | undefined {
    return session && this.#bySession.get(session);
  }

  /** Called if the system has no free descriptor. Idle connections are then closed sooner. */
  noteDescriptorShortage(): 'new' | 'known' {
    const { measures, nowMs } = this.#context;
    const isKnown = nowMs < this.#shortOfDescriptorsUntilMs;
    this.#shortOfDescriptorsUntilMs = nowMs + limits.descriptorShortageMs;
    measures.countRefusedConnection('descriptors');
    return isKnown ? 'known' : 'new';
  }

  /** Calls back once all current connections have closed; new ones are not waited for. */
  onCurrentConnectionsClosed(act: () => void): void {
    this.#awaited = new Set(this.#connections.values());
    this.#onAwaitedClosed = act;
    if (this.#awaited.size === 0) act();
  }

  sweep(nowMs: number): void {
    const { draining, guard } = this.#context;
    const idleMs = draining.aborted
      ? limits.idleWhileDrainingMs
      : this.#isCrowded(nowMs)
        ? limits.idleWhileCrowdedMs
        : limits.idleTimeoutMs;
    for (const { socket, connection, sinceMs } of this.#accepted.values()) {
      if (connection)
        guard.run(
          'timer',
          () => connection.sweep(nowMs, idleMs),
          () => connection.destroy(),
        );
      // Node's handshake timeout does not cover handshakes that have not begun.
      else if (nowMs - sinceMs > limits.headTimeoutMs + limits.lingerMs) socket.destroy();
    }
    this.#cutOffStalled(nowMs);
  }

  destroyAll(): void {
    for (const accepted of this.#accepted.values()) destroyAcceptedSocket(accepted);
  }

  #isCrowded(nowMs: number): boolean {
    return this.#accepted.size > limits.connectionsMax * limits.crowdedShare || nowMs < this.#shortOfDescriptorsUntilMs;
  }

  #accept(socket: Socket, shakeHands: (socket: Socket) => void): void {
    const { guard, loop, measures, nowMs } = this.#context;
    const peer = socket.remoteAddress;
    // The client has disconnected.
    if (peer === undefined) return void socket.destroy();
    if (this.#perPeerMax > 0) {
      const open = this.#perPeer.get(peer) ?? 0;
      if (open >= this.#perPeerMax) {
        measures.countRefusedConnection('peer');
        return void socket.destroy();
      }
      this.#perPeer.set(peer, open + 1);
    }
    const key = keyOf(socket);
    const replaced = this.#accepted.get(key);
    if (replaced) destroyAcceptedSocket(replaced);
    this.#accepted.set(key, { socket, connection: undefined, sinceMs: nowMs });
    // Neither a wrapper nor a listener that Node removes itself: an idle connection should take little memory.
    socket.on('error', ignoreSocketError);
    socket.on('close', () => this.#forgetAccepted(key, socket, peer));
    const destroy = (): void => void socket.destroy();
    const begin = guard.wrap('connection', () => this.#beginHandshake(socket, peer, shakeHands), destroy);
    // Handshakes of thousands of connections could otherwise begin at once.
    const readable = (): void => loop.runOrQueue('accept', begin, limits.costsMs.handshake);
    socket.once('readable', guard.wrap('connection', readable, destroy));
  }

  #beginHandshake(socket: Socket, peer: string, shakeHands: (socket: Socket) => void): void {
    if (socket.destroyed) return;
    // The client has disconnected without sending anything.
    if (socket.readableLength === 0) return void socket.destroy();
    if (isPlainHttp(socket)) return this.#refusePlainHttp(socket, peer);
    // A half-closed handshake cannot complete. The TLS socket inherits this setting.
    socket.allowHalfOpen = false;
    shakeHands(socket);
  }

  /** As servers in Go do, since the client could not understand an alert of TLS. */
  #refusePlainHttp(socket: Socket, peer: string): void {
    const refusal = createRefusal(400, 'Client sent an HTTP request to an HTTPS server.');
    closeLingering(socket, this.#context, Buffer.from(`HTTP/1.0 400 Bad Request\r\n\r\n${refusal.message}\n`));
    this.#context.measures.countFailedHandshake();
    this.#context.reportRefusal(refusal, peer);
  }

  #forgetAccepted(key: string, socket: Socket, peer: string): void {
    if (this.#accepted.get(key)?.socket === socket) this.#accepted.delete(key);
    if (this.#perPeerMax === 0) return;
    const open = (this.#perPeer.get(peer) ?? 1) - 1;
    if (open === 0) this.#perPeer.delete(peer);
    else this.#perPeer.set(peer, open);
  }

  #openConnection(socket: TLSSocket): void {
    const { guard, loop } = this.#context;
    const accepted = this.#accepted.get(keyOf(socket));
    const connection = new Connection(socket, accepted?.socket, this.#context);
    if (accepted) accepted.connection = connection;
    this.#connections.set(socket, connection);
    this.#newest = connection;
    socket.on('close', () => guard.run('connection', () => this.#forgetConnection(socket, connection)));
    socket.on('end', () =>
      guard.run(
        'connection',
        () => {
          if (socket.alpnProtocol !== 'h2') return connection.abortRequests();
          const costMs = limits.costsMs.connectionEnd + connection.requests.size * limits.costsMs.requestEnd;
          loop.runOrQueue('close', () => guard.run('connection', () => void socket.destroy()), costMs);
        },
        () => socket.destroy(),
      ),
    );
  }

  #forgetConnection(socket: TLSSocket, connection: Connection): void {
    this.#connections.delete(socket);
    if (connection.session) this.#bySession.delete(connection.session);
    connection.removeRequests();
    if (this.#awaited.delete(connection) && this.#awaited.size === 0) this.#onAwaitedClosed();
  }

  /** Node creates the session while it emits 'secureConnection'. */
  #attachSession(session: ServerHttp2Session): void {
    const connection = this.#newest;
    if (!connection) return session.destroy();
    connection.attachSession(session);
    this.#bySession.set(session, connection);
  }

  /**
   * If memory for responses is exhausted, cuts off the responses that have stalled longest, until half of it is free.
   */
  #cutOffStalled(nowMs: number): void {
    const { responseBytes, bodyBytes, measures } = this.#context;
    let streamBytes = 0;
    for (const { requests } of this.#connections.values())
      for (const request of requests) streamBytes += request.streamBacklogBytes;
    const heldBytes = responseBytes.used + streamBytes;
    measures.setSizes({ connections: this.#accepted.size, responseBytes: heldBytes, bodyBytes: bodyBytes.used });
    if (heldBytes < limits.responseBytesMax && !responseBytes.hasWaiters) return;
    const stalled: { readonly request: OpenRequest; readonly bytes: number; readonly sinceMs: number }[] = [];
    for (const { requests } of this.#connections.values())
      for (const request of requests) {
        const { backlog } = request;
        if (backlog && nowMs - backlog.sinceMs >= limits.stallWhileFullMs) stalled.push({ request, ...backlog });
      }
    stalled.sort((one, other) => one.sinceMs - other.sinceMs);
    let left = heldBytes;
    for (const { request, bytes } of stalled) {
      if (left <= limits.responseBytesMax / 2) return;
      left -= bytes;
      request.abandonResponse('memory');
    }
  }
}

/** Whether the first bytes are a method. Those of TLS are no letters. The bytes stay in the socket. */
function isPlainHttp(socket: Socket): boolean {
  const bytes: unknown = socket.read();
  if (!Buffer.isBuffer(bytes)) return false;
  socket.unshift(bytes);
  return /^[A-Z]{3,16} /.test(bytes.toString('latin1', 0, longestMethod + 1));
}

const longestMethod = 16;

/** Removes Node's listeners of an event and returns a function that calls them. */
function takeListeners(server: Http2SecureServer, event: 'connection' | 'secureConnection'): (socket: Socket) => void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  return (socket) => {
    for (const listener of listeners) listener.call(server, socket);
  };
}

/** An accepted socket, with its connection after the handshake. */
interface Accepted {
  readonly socket: Socket;
  connection: Connection | undefined;
  readonly sinceMs: number;
}

function destroyAcceptedSocket({ socket, connection }: Accepted): void {
  connection?.destroy();
  socket.destroy();
}

const keyOf = ({ remoteAddress, remotePort, localAddress }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress}`;

/** Readers and writers of the socket handle errors; Node only requires a listener. */
function ignoreSocketError(): void {}
