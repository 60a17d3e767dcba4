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

/** The server answered, and would do so again: the answer is too large or no HTTP. */
export class UnusableAnswerError extends HttpsError {
  override readonly name = 'UnusableAnswerError';
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

export const createHttpsClient = (options: HttpsClientOptions): HttpsClient => new BoundedClient(options);

class BoundedClient implements HttpsClient {
  readonly #clock: Clock;
  readonly #dial: Dial | undefined;
  readonly #credentials: tls.SecureContextOptions;
  readonly #serverName: { readonly servername?: string };
  /** Made once: for each connection it would take longer than everything else. */
  #context: tls.SecureContext | undefined;
  readonly #agent: https.Agent | undefined;
  readonly #closed = new AbortController();

  constructor({ clock, ca, cert, key, serverName, dial, connectionsMax }: HttpsClientOptions) {
    this.#clock = clock;
    this.#dial = dial;
    this.#credentials = { ca, ...(cert && key && { cert, key }) };
    this.#serverName = serverName ? { servername: serverName } : {};
    if (connectionsMax)
      this.#agent = new https.Agent({ keepAlive: true, maxSockets: connectionsMax, timeout: idleConnectionMs });
  }

  /** Adds a client span below the span of the call, and propagates the trace. */
  send(request: HttpsRequest, call: Call): Promise<HttpsResponse> {
    const span = call.trace?.child(request.method, spanOptions(request));
    if (!span) return this.#send(request, call);
    const headers = { ...request.headers, ...traceHeaders(span.context) };
    return runInSpan(span, async () => {
      const response = await this.#send({ ...request, headers }, call);
      span.set({ 'http.response.status_code': response.status });
      return response;
    });
  }

  close(): void {
    this.#closed.abort(new HttpsError('the client is closed'));
    this.#agent?.destroy();
  }

  async #send(request: HttpsRequest, call: Call): Promise<HttpsResponse> {
    if (request.url.protocol !== 'https:') throw new HttpsError('only https is used');
    const late = new AbortController();
    const cancel = this.#abortWhenLate(late, request, call);
    const ended = call.signal ? [call.signal, late.signal] : [late.signal];
    const signal = AbortSignal.any([this.#closed.signal, ...ended]);
    let connection: Duplex | undefined;
    try {
      connection = await this.#dial?.(addressOf(request.url), signal);
      return await this.#exchange(request, connection, signal);
    } catch (cause) {
      for (const { aborted, reason } of ended) if (aborted) throw reason;
      throw cause instanceof HttpsError ? cause : new HttpsError('the server cannot be reached', { cause });
    } finally {
      cancel();
      connection?.destroy();
    }
  }

  /** The deadline of the call, or the timeout of the request, whichever is first. */
  #abortWhenLate(late: AbortController, { timeoutMs }: HttpsRequest, call: Call): () => void {
    const callLeftMs = call.deadlineMs - this.#clock.monotonicMs();
    const problem =
      callLeftMs < timeoutMs
        ? new DeadlineExceededError()
        : new HttpsTimeoutError(`no answer in ${Math.round(timeoutMs)} ms`);
    const leftMs = Math.max(0, Math.ceil(Math.min(callLeftMs, timeoutMs)));
    return this.#clock.after(leftMs, () => late.abort(problem));
  }

  async #exchange(request: HttpsRequest, connection: Duplex | undefined, signal: AbortSignal): Promise<HttpsResponse> {
    this.#context ??= contextOf(this.#credentials);
    const trust = { secureContext: this.#context, ...this.#serverName };
    const way = connection
      ? // An agent would open its own connection instead.
        { createConnection: createTlsConnector(request.url, connection, trust) }
      : { ...trust, agent: this.#agent ?? false };
    for (;;) {
      try {
        return await exchange(request, { ...way, signal });
      } catch (error) {
        // Each retry consumes one idle connection; the last one opens a new connection.
        if (!(error instanceof StaleConnectionError) || signal.aborted) throw error;
      }
    }
  }
}

/** Of all clients that trust the CAs of the system, and have no certificate: it takes a megabyte and ten milliseconds. */
let systemContext: tls.SecureContext | undefined;

function contextOf(credentials: tls.SecureContextOptions): tls.SecureContext {
  if (credentials.ca !== undefined) return tls.createSecureContext(credentials);
  const ca = [...new Set([...getCACertificates('default'), ...getCACertificates('system')])];
  if (credentials.cert !== undefined) return tls.createSecureContext({ ...credentials, ca });
  return (systemContext ??= tls.createSecureContext({ ca }));
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

/** Answers with a status of 1xx before the final one. */
const interimAnswersMax = 10;

/** Node's advice to use the CAs of the system is wrong: they are used unless CAs are configured. */
function withoutHint(error: Error): Error {
  error.message = error.message.replace(/; if the root CA is installed locally.*$/, '');
  return error;
}

/** Error codes of Node's HTTP parser. */
const parserCodes = 'HPE_';

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
    let interimAnswers = 0;
    request.on('information', () => {
      if (++interimAnswers > interimAnswersMax) fail(new UnusableAnswerError('the server sends interim answers only'));
    });
    request.on('error', (error: NodeJS.ErrnoException) => {
      const isStale = request.reusedSocket && !isAnswered && staleCodes.includes(error.code ?? '');
      if (isStale) fail(new StaleConnectionError('the server closed an idle connection', { cause: error }));
      else if (error.code?.startsWith(parserCodes))
        fail(new UnusableAnswerError('the answer is not valid HTTP', { cause: error }));
      else fail(withoutHint(error));
    });
    // Node closes a response that upgrades the protocol without an error event.
    request.on('close', () => {
      if (!isAnswered) reject(new HttpsError('the connection was closed without an answer'));
    });
    request.on('response', (response) => {
      isAnswered = true;
      const received = new ReceivedBody();
      response.on('data', (piece: Buffer) => {
        if (received.length + piece.length > bodyBytesMax)
          fail(new UnusableAnswerError(`the answer is larger than ${bodyBytesMax} bytes`));
        else received.add(piece);
      });
      response.on('error', (cause) => fail(new HttpsError('the answer broke off', { cause })));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: received.toString() }));
    });
    request.end(body);
  });
}

/** In one buffer: a server may send each byte in a chunk, and a piece takes two hundred bytes besides its content. */
class ReceivedBody {
  #bytes = Buffer.allocUnsafeSlow(firstBytes);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
  }

  toString(): string {
    return this.#bytes.toString('utf8', 0, this.#length);
  }
}

/** Most answers are smaller. */
const firstBytes = 4_096;
