import https from 'node:https';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import tls, { getCACertificates } from 'node:tls';
import {
  type Call,
  type Clock,
  DeadlineExceededError,
  runInSpan,
  serverAttributes,
  type SpanOptions,
  traceHeaders,
} from '@cluster-apiserver/base';

/**
 * Sends requests to external servers: token issuers and webhooks. The size of the response and the time are bounded, and the
 * request ends with its call. Redirects are not followed: they could lead anywhere.
 */
export interface HttpsClient {
  /** Throws an HttpsError without a complete response, and the reason of the call if the call ended. */
  send(request: HttpsRequest, call: Call): Promise<HttpsResponse>;
  /** Aborts requests in flight. */
  close(): void;
}

export interface HttpsRequest {
  readonly method: 'GET' | 'POST';
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** A larger response is an error. */
  readonly bodyBytesMax: number;
  /** Total time: a server that sends a byte now and then would never be idle. */
  readonly timeoutMs: number;
}

export interface HttpsResponse {
  readonly status: number;
  readonly body: string;
}

/** No complete response. The message contains nothing of the request. */
export class HttpsError extends Error {
  override readonly name: string = 'HttpsError';
}

/** The server took longer than the request allows. */
export class HttpsTimeoutError extends HttpsError {
  override readonly name = 'HttpsTimeoutError';
}

/** The server had closed an idle connection that was used for the request. */
class StaleConnectionError extends HttpsError {
  override readonly name = 'StaleConnectionError';
}

/** Connects to a host, such as through a proxy. */
export type Dial = (address: { readonly host: string; readonly port: number }, signal: AbortSignal) => Promise<Duplex>;

export interface HttpsClientOptions {
  readonly clock: Clock;
  /** The CAs of the system if undefined. */
  readonly ca?: Buffer | string | undefined;
  readonly cert?: Buffer | undefined;
  readonly key?: Buffer | undefined;
  /** TLS server name, if it differs from the host of the URL. */
  readonly serverName?: string | undefined;
  readonly dial?: Dial | undefined;
  /** Maximum number of connections, which are kept open for further requests. By default each request opens one. */
  readonly connectionsMax?: number | undefined;
}

/** As in Go's client; many servers close connections earlier. */
const idleConnectionMs = 90_000;

export function createHttpsClient(options: HttpsClientOptions): HttpsClient {
  const { clock, cert, key, serverName, dial, connectionsMax } = options;
  const ca = options.ca ?? [...getCACertificates('default'), ...getCACertificates('system')];
  const trust = { ca, ...(cert && key && { cert, key }), ...(serverName && { servername: serverName }) };
  const agent = connectionsMax
    ? new https.Agent({ keepAlive: true, maxSockets: connectionsMax, timeout: idleConnectionMs, ...trust })
    : undefined;
  const closed = new AbortController();

  /** Adds a client span below the span of the call, and propagates the trace. */
  const send = (request: HttpsRequest, call: Call): Promise<HttpsResponse> => {
    const span = call.trace?.child(request.method, spanOptions(request));
    if (!span) return sendPlain(request, call);
    const headers = { ...request.headers, ...traceHeaders(span.context) };
    return runInSpan(span, async () => {
      const answer = await sendPlain({ ...request, headers }, call);
      span.set({ 'http.response.status_code': answer.status });
      return answer;
    });
  };
  const sendPlain = async (request: HttpsRequest, call: Call): Promise<HttpsResponse> => {
    if (request.url.protocol !== 'https:') throw new HttpsError('only https is used');
    const late = new AbortController();
    const callLeftMs = call.deadlineMs - clock.monotonicMs();
    const isOfCall = callLeftMs < request.timeoutMs;
    const problem = isOfCall
      ? new DeadlineExceededError()
      : new HttpsTimeoutError(`no answer in ${request.timeoutMs} ms`);
    const cancel = clock.after(Math.max(0, Math.ceil(Math.min(callLeftMs, request.timeoutMs))), () =>
      late.abort(problem),
    );
    const ended = call.signal ? [call.signal, late.signal] : [late.signal];
    const signal = AbortSignal.any([closed.signal, ...ended]);
    let connection: Duplex | undefined;
    try {
      connection = await dial?.(addressOf(request.url), signal);
      const way = connection
        ? // An agent would open its own connection instead.
          { createConnection: createTlsConnector(request.url, connection, trust) }
        : { ...trust, agent: agent ?? false };
      for (;;) {
        try {
          return await exchange(request, { ...way, signal });
        } catch (error) {
          // Each retry consumes one idle connection; the last one opens a new connection.
          if (!(error instanceof StaleConnectionError) || signal.aborted) throw error;
        }
      }
    } catch (cause) {
      for (const { aborted, reason } of ended) if (aborted) throw reason;
      throw cause instanceof HttpsError ? cause : new HttpsError('the server cannot be reached', { cause });
    } finally {
      cancel();
      connection?.destroy();
    }
  };
  return {
    send,
    close: () => {
      closed.abort(new HttpsError('the client is closed'));
      agent?.destroy();
    },
  };
}

const spanOptions = ({ method, url }: HttpsRequest): SpanOptions => ({
  kind: 'client',
  attributes: { 'http.request.method': method, ...serverAttributes(url) },
});

const addressOf = ({ hostname, port }: URL) => ({
  host: hostname.replace(/^\[(.*)\]$/, '$1'),
  port: port === '' ? 443 : Number(port),
});

const createTlsConnector =
  (url: URL, connection: Duplex, trust: tls.ConnectionOptions): (() => tls.TLSSocket) =>
  () => {
    const { host } = addressOf(url);
    return tls.connect({ socket: connection, host, ...(isIP(host) === 0 && { servername: host }), ...trust });
  };

/** Error codes of a request on a connection that the server closes at the same moment. */
const staleCodes = ['ECONNRESET', 'EPIPE'];

function exchange(
  { method, url, headers, body, bodyBytesMax }: HttpsRequest,
  options: https.RequestOptions,
): Promise<HttpsResponse> {
  return new Promise((resolve, reject) => {
    const length = body === undefined ? undefined : { 'content-length': Buffer.byteLength(body) };
    const request = https.request(url, {
      ...options,
      method,
      headers: { accept: 'application/json', ...headers, ...length },
    });
    const fail = (error: Error): void => {
      request.destroy();
      reject(error);
    };
    let isAnswered = false;
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && !isAnswered && staleCodes.includes(error.code ?? '');
      fail(isStale ? new StaleConnectionError('the server closed an idle connection', { cause: error }) : error);
    });
    // Node closes a response that upgrades the protocol without an error event.
    request.on('close', () => {
      if (!isAnswered) reject(new HttpsError('the connection was closed without an answer'));
    });
    request.on('response', (response) => {
      isAnswered = true;
      const pieces: Buffer[] = [];
      let bytes = 0;
      response.on('data', (piece: Buffer) => {
        bytes += piece.length;
        if (bytes > bodyBytesMax) fail(new HttpsError(`the answer is larger than ${bodyBytesMax} bytes`));
        else pieces.push(piece);
      });
      response.on('error', (cause) => fail(new HttpsError('the answer broke off', { cause })));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString() }));
    });
    request.end(body);
  });
}
