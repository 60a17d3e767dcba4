import type { Server } from 'node:net';
import { type Clock, invariant, LongList, loopOf, type Random, settle } from '@cluster-apiserver/base';
import type { StatusError } from '@cluster-apiserver/model';
import { type ApiRequest, type ApiResponse, ClientGoneError, type Handler } from '../exchange.ts';
import { Budget } from './connection/budget.ts';
import type { ListenerContext } from './listener-context.ts';
import { CallbackGuard, type ReportFailure } from './callback-guard.ts';
import { serveHttp1 } from './http1/serve-http1.ts';
import { serveHttp2 } from './http2/serve-http2.ts';
import * as limits from './limits.ts';
import type { ListenerMeasures } from './measures.ts';
import { OpenConnections } from './connection/open-connections.ts';
import { createRefusal, refusalResponse } from './request/refusal.ts';
import { createServer, secureContext, type SecureServerOptions } from './secure-server.ts';
import { describeRequest, type SocketRequest } from './request/socket-request.ts';
import type { ServingCertificate } from './serving-certificate.ts';

export interface ListenOptions extends SecureServerOptions {
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Probability that an HTTP/2 request triggers GOAWAY. */
  readonly goawayChance: number;
  /** Maximum number of connections per client address; 0 for no limit. */
  readonly connectionsPerPeerMax: number;
  readonly measures: ListenerMeasures;
  /** Called for bytes that are no request for the handler chain, such as malformed ones, after the response. */
  readonly reportRefusal: (refusal: StatusError, remoteAddress: string) => void;
  /** Reports internal errors. */
  readonly report: ReportFailure;
}

export interface Listener {
  readonly port: number;
  /** Applies to new connections. */
  useCertificate(next: ServingCertificate): void;
  /**
   * Asks clients to reconnect elsewhere and still serves all requests: HTTP/1.1 responses close their connection,
   * HTTP/2 sessions get GOAWAY, watches end. Resolves when all current connections have closed, or after the grace
   * period. New connections are served but not waited for.
   */
  drain(graceMs: number): Promise<void>;
  /**
   * Stops accepting connections and resolves when all requests have been answered; at the limit the rest is cut off.
   */
  close(limitMs: number): Promise<void>;
}

/** Listens on one TLS port for HTTP/1.1 and HTTP/2, negotiated by ALPN. */
export async function listen(options: ListenOptions, handler: Handler<ApiRequest>): Promise<Listener> {
  const draining = new AbortController();
  const context = createContext(options, draining.signal);
  const { clock, guard, loop } = context;
  const connections = new OpenConnections(context, options.connectionsPerPeerMax);
  // All requests that arrive in one iteration of the event loop begin together, and ready responses leave together. That
  // keeps code in the processor's caches and batches writes to etcd and to sockets, whose wake-ups cost as much as the rest.
  const accept = (request: SocketRequest): void =>
    loop.queue('request', () => handOver(request, handler, context), request.connection.owner);
  const server = createServer(options);
  connections.attach(server);
  serveHttp1(server, connections, context, accept);
  serveHttp2(server, connections, context, accept, () => drawGoaway(options));

  const sweep = (): void => {
    cancelSweep = clock.after(limits.sweepMs, sweep);
    context.nowMs = clock.monotonicMs();
    // First everything that has arrived is read: a process that has stalled would take the clients for idle.
    clock.soon(() => connections.sweep(context.nowMs));
  };
  let cancelSweep = clock.after(limits.sweepMs, sweep);

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port, options.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  server.on(
    'error',
    guard.wrap('connection', (error: NodeJS.ErrnoException) => {
      const isShortage = error.code === 'EMFILE' || error.code === 'ENFILE';
      // Log once: each further client would add a line.
      if (isShortage && connections.noteDescriptorShortage() === 'known') return;
      context.report('accepting a connection failed', error);
    }),
  );

  return {
    port: portOf(server),
    useCertificate: (next) => server.setSecureContext(secureContext(next, options.requestsCertificates)),
    drain: (graceMs) => {
      for (const connection of connections) guard.run('connection', () => connection.sendGoaway());
      draining.abort();
      return new Promise((resolve) => {
        const cancel = clock.after(graceMs, resolve);
        connections.onCurrentConnectionsClosed(() => {
          cancel();
          resolve();
        });
      });
    },
    close: (limitMs) => {
      draining.abort();
      return new Promise((resolve) => {
        const cancel = clock.after(limitMs, () => connections.destroyAll());
        server.close(() => {
          cancel();
          cancelSweep();
          resolve();
        });
      });
    },
  };
}

function createContext(options: ListenOptions, draining: AbortSignal): ListenerContext & { nowMs: number } {
  const { clock, measures } = options;
  const guard = new CallbackGuard(options.report, measures);
  const loop = loopOf(clock);
  loop.guard = (iterate) => guard.run('timer', iterate);
  const guardedClock: Clock = {
    now: () => clock.now(),
    monotonicMs: () => clock.monotonicMs(),
    after: (delayMs, callback) => clock.after(delayMs, () => guard.run('timer', callback)),
    soon: (callback) => clock.soon(() => guard.run('timer', callback)),
    microtask: (callback) => clock.microtask(() => guard.run('timer', callback)),
  };
  return {
    nowMs: clock.monotonicMs(),
    clock: guardedClock,
    loop,
    draining,
    asksForCertificates: options.requestsCertificates,
    responseBytes: new Budget(limits.responseBytesMax),
    longResponses: new Budget(limits.longResponsesMax),
    bodyBytes: new Budget(limits.bodyBytesMax),
    receiving: new LongList(),
    lingering: 0,
    guard,
    measures,
    reportRefusal: (refusal, remoteAddress) =>
      guard.run('connection', () => options.reportRefusal(refusal, remoteAddress)),
    report: (what, error) => guard.run('request', () => options.report(what, error)),
  };
}

/** Passes a request to the handler chain, unless its client has disconnected meanwhile. */
function handOver(request: SocketRequest, handler: Handler<ApiRequest>, context: ListenerContext): void {
  if (request.isDisconnected) return;
  void settle(
    handler,
    request,
    (response) => queueResponse(request, response, context),
    (error) => respondToFailure(request, error, context),
  );
}

function queueResponse(request: SocketRequest, response: ApiResponse, { guard, loop }: ListenerContext): void {
  try {
    loop.queue('response', () => request.respond(response), request.connection.owner);
  } catch (error) {
    guard.reportFailure('response', error, () => request.cutOff());
  }
}

/** The handler chain turns all errors into responses, so this is a failure of that stage. */
function respondToFailure(request: SocketRequest, error: unknown, { guard }: ListenerContext): void {
  if (!(error instanceof ClientGoneError))
    guard.reportFailure('request', error, () => {}, 'answering a request failed', describeRequest(request));
  request.respond(refusalResponse(createRefusal(500, 'internal error')));
}

function portOf(server: Server): number {
  const address = server.address();
  invariant(address !== null && typeof address === 'object', 'the server does not listen on a TCP port');
  return address.port;
}

/** Connections are long-lived, so a new replica would get none of them otherwise. */
const drawGoaway = ({ goawayChance, random }: ListenOptions): boolean =>
  goawayChance > 0 && random.below(chances) < goawayChance * chances;

/** Fine enough for a probability of one in a million. */
const chances = 2 ** 31;
