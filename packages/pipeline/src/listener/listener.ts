import type { AddressInfo } from 'node:net';
import type { Clock, Random } from '@cluster-apiserver/base';
import { type ApiRequest, type ApiResponse, ClientGoneError, type Handler } from '../exchange.ts';
import { MemoryBudget } from './connection/memory-budget.ts';
import type { ListenerContext } from './listener-context.ts';
import { CallbackGuard, type ReportFailure } from './callback-guard.ts';
import { serveHttp1 } from './http1/serve-http1.ts';
import { serveHttp2 } from './http2/serve-http2.ts';
import * as limits from './limits.ts';
import type { ListenerMeasures } from './measures.ts';
import { OpenConnections } from './connection/open-connections.ts';
import { createRefusal } from './request/refusal.ts';
import { createServer, secureContext, type SecureServerOptions } from './secure-server.ts';
import { describeRequest, type SocketRequest } from './request/socket-request.ts';
import type { ServingCertificate } from './serving-certificate.ts';
import { RequestScheduler } from './request-scheduler.ts';

export interface ListenOptions extends SecureServerOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly clock: Clock;
  readonly random: Random;
  /** How likely a request over HTTP/2 makes its client open the next ones on another connection. */
  readonly goawayChance: number;
  /** Connections that one address may have open; 0 is no limit. */
  readonly connectionsPerPeerMax: number;
  readonly measures: ListenerMeasures;
  /** Faults of ours that no client will tell us about. */
  readonly report: ReportFailure;
}

export interface Listener {
  readonly port: number;
  /** For connections from now on; those that exist keep what they began with. */
  useCertificate(next: ServingCertificate): void;
  /**
   * Asks clients to go elsewhere and still serves all they send: HTTP/1.1 answers close their connection, HTTP/2
   * sessions are told that no new streams are wanted, streams are told to end. Resolves when all that were there have
   * left, or after the grace: whoever connects meanwhile is served and not waited for, so that steady newcomers delay
   * no end.
   */
  drain(graceMs: number): Promise<void>;
  /** Accepts nothing more and resolves when what was accepted has been answered; what is left at the limit is cut off. */
  close(limitMs: number): Promise<void>;
}

/** One TLS port for HTTP/1.1 and HTTP/2, chosen in the handshake. */
export async function listen(options: ListenOptions, handler: Handler<ApiRequest>): Promise<Listener> {
  const draining = new AbortController();
  const context = createContext(options, draining.signal);
  const { clock, guard } = context;
  const connections = new OpenConnections(context, options.connectionsPerPeerMax);
  const scheduler = new RequestScheduler(clock, (request) => handOver(request, handler, scheduler, context));
  const accept = (request: SocketRequest, refused: ApiResponse | undefined): void => {
    if (refused) request.respond(refused);
    else scheduler.scheduleRequest(request);
  };
  const server = createServer(options);
  connections.attach(server);
  serveHttp1(server, connections, context, accept);
  serveHttp2(server, connections, context, accept, () => drawGoaway(options));

  const sweep = (): void => {
    cancelSweep = clock.after(limits.sweepMs, sweep);
    context.nowMs = clock.monotonicMs();
    connections.sweep(context.nowMs);
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
      // Each client that comes meanwhile would be one more line of the log.
      if (isShortage && connections.noteDescriptorShortage() === 'known') return;
      context.report('accepting a connection failed', error);
    }),
  );

  return {
    port: (server.address() as AddressInfo).port,
    useCertificate: (next) => server.setSecureContext(secureContext(next, options.asksForCertificates)),
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
  return {
    nowMs: clock.monotonicMs(),
    clock: {
      now: () => clock.now(),
      monotonicMs: () => clock.monotonicMs(),
      after: (delayMs, callback) => clock.after(delayMs, () => guard.run('timer', callback)),
      soon: (callback) => clock.soon(() => guard.run('timer', callback)),
    },
    draining,
    asksForCertificates: options.asksForCertificates,
    responseBytes: new MemoryBudget(limits.responseBytesMax),
    bodyBytes: new MemoryBudget(limits.bodyBytesMax),
    receiving: new Set(),
    lingering: 0,
    guard,
    measures,
    report: (what, error) => guard.run('request', () => options.report(what, error)),
  };
}

/** Hands a request to the pipeline. Its client may have left while others were served. */
function handOver(
  request: SocketRequest,
  handler: Handler<ApiRequest>,
  scheduler: RequestScheduler,
  context: ListenerContext,
): void {
  if (request.isDisconnected) return;
  try {
    const response = handler(request);
    if (response instanceof Promise)
      response.then(
        (late) => scheduleResponse(request, late, scheduler, context),
        (error: unknown) => failed(request, error, context),
      );
    else scheduleResponse(request, response, scheduler, context);
  } catch (error) {
    failed(request, error, context);
  }
}

function scheduleResponse(
  request: SocketRequest,
  response: ApiResponse,
  scheduler: RequestScheduler,
  { guard }: ListenerContext,
): void {
  guard.run(
    'response',
    () => scheduler.scheduleResponse(request, response),
    () => request.cutOff(),
  );
}

/** The pipeline scheduler every error into an answer; what arrives here is a fault of that stage. */
function failed(request: SocketRequest, error: unknown, { guard }: ListenerContext): void {
  if (!(error instanceof ClientGoneError))
    guard.reportFailure('request', error, () => {}, 'answering a request failed', describeRequest(request));
  request.respond(createRefusal(500, 'the request could not be answered'));
}

/** Connections live long, and a replica that has just come gets none of them otherwise. */
const drawGoaway = ({ goawayChance, random }: ListenOptions): boolean =>
  goawayChance > 0 && random.below(chances) < goawayChance * chances;

/** Fine enough for chances of one in a million. */
const chances = 2 ** 31;
